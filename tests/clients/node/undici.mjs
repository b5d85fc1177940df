import {EnvHttpProxyAgent, request} from "undici";
import {http} from "./checks.mjs";
// undici's own documented way to heed the variables; without them it connects directly.
const allowH2 = process.argv[2] === "h2";
const dispatcher = new EnvHttpProxyAgent({allowH2});
await http(async (url, options) => ({version: "", body: (await request(url, {...options, dispatcher})).body}), "undici");

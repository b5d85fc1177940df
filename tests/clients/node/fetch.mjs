// The fetch that the runtime brings: Node, Deno and Bun.
import {http} from "./checks.mjs";
await http(async (url, options) => ({version: "", body: (await fetch(url, options)).body}));

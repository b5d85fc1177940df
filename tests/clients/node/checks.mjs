// What every HTTP client does. `open(path, {method, body, headers})` gives {version, body}: the body
// as an asynchronous sequence of chunks.
import {readFileSync} from "node:fs";

export const token = process.env.API_TOKEN;
export const headers = {authorization: `Bearer ${token}`};
const runtime = globalThis.Deno?.version.deno ?? globalThis.Bun?.version ?? process.versions.node;
const api = "https://api.test";
const digest = "aca1cd027e979588d14b877b7b0cb8585ad9fec599eb45801992ee5382b3760f";

export function expect(got, wanted) {
  if (got !== wanted) throw new Error(`${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`);
}

// `name`: of the package whose version counts; without one it is the runtime's.
export async function report(checks, name) {
  const packaged = name && JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url)));
  console.log("version", packaged ? `${packaged.version} on Node ${runtime}` : runtime);
  for (const [name, check] of Object.entries(checks)) {
    try {
      console.log(`${name} ok ${await check() ?? ""}`);
    } catch (error) {
      const causes = [];
      for (let at = error; at; at = at.cause) causes.push(at.code ?? "", at.message);
      console.log(name, causes.join(" ").replaceAll("\n", " ").trim().slice(0, 400));
    }
  }
  process.exit();
}

export function http(open, name) {
  const ask = async (path, more = {}) => open(api + path, {method: "GET", headers, ...more});
  const text = async (body) => {
    const decoder = new TextDecoder();
    let all = "";
    for await (const chunk of body) all += decoder.decode(chunk, {stream: true});
    return all.trim();
  };
  return report({
    get: async () => {
      const answer = await ask("/whoami");
      expect(await text(answer.body), `you are ${token}`);
      return answer.version;
    },
    post: async () => {
      const body = "0123456789abcdef".repeat(65536);
      expect(await text((await ask("/digest", {method: "POST", body})).body), digest);
    },
    stream: async () => {
      const chunks = (await ask("/events")).body[Symbol.asyncIterator]();
      let first = "";
      while (!first.includes("\n\n")) {
        const {value, done} = await chunks.next();
        if (done) throw new Error(`ended after ${first}`);
        first += new TextDecoder().decode(value);
      }
      const [, id, name] = first.trim().split(" ");
      expect(name, token);
      await text((await ask(`/go-on/${id}`)).body);
      expect(await text({[Symbol.asyncIterator]: () => chunks}), "data: done");
    },
  }, name);
}

import grpc from "@grpc/grpc-js";
import {expect, report, token} from "./checks.mjs";

const client = new grpc.Client("grpc.test:443", grpc.credentials.createSsl());
const metadata = new grpc.Metadata();
metadata.set("authorization", `Bearer ${token}`);
const raw = (bytes) => bytes;   // messages as they are: no protoc is needed
const options = () => ({deadline: Date.now() + 15000});

await report({
  unary: () => new Promise((yes, no) => client.makeUnaryRequest(
    "/warder.Echo/Say", raw, raw, Buffer.from("hello"), metadata, options(), (error, answer) => {
      if (error) return no(error);
      try { expect(answer.toString(), `you are ${token}: hello`); yes("HTTP/2"); } catch (e) { no(e); }
    })),
  bidi: () => new Promise((yes, no) => {
    const talk = client.makeBidiStreamRequest("/warder.Echo/Talk", raw, raw, metadata, options());
    let said = 0;
    talk.write(Buffer.from("message 0"));
    talk.on("data", (heard) => {       // the next one is said only when this one has come back
      if (heard.toString() !== `message ${said}`) return no(new Error(`heard ${heard}`));
      if (++said < 3) talk.write(Buffer.from(`message ${said}`)); else talk.end();
    });
    talk.on("error", no);
    talk.on("end", () => said === 3 ? yes() : no(new Error(`ended after ${said}`)));
  }),
}, "@grpc/grpc-js");

// argv[2]: "ws" for the package, "built-in" for the runtime's own WebSocket.
import {WebSocket as Package} from "ws";
import {expect, headers, report, token} from "./checks.mjs";

const Socket = process.argv[2] === "ws" ? Package : WebSocket;
await report({
  ws: async () => {
    const socket = new Socket("wss://ws.test/", Socket === Package ? {headers} : []);
    socket.binaryType = "arraybuffer";
    const arrived = [], waiting = [];
    const fail = (event) => waiting.splice(0).forEach(([, no]) => no(event.error ?? new Error(`closed: ${event.message ?? event.code}`)));
    socket.addEventListener("message", ({data}) => waiting.length ? waiting.shift()[0](data) : arrived.push(data));
    socket.addEventListener("error", fail);
    socket.addEventListener("close", fail);
    const next = () => arrived.length ? arrived.shift() : new Promise((yes, no) => waiting.push([yes, no]));
    expect(await next(), `you are ${token}`);
    socket.send("hello");
    expect(await next(), "hello");
    const bytes = new Uint8Array(200000).map((_, i) => i);
    socket.send(bytes);
    const back = new Uint8Array(await next());
    expect(back.length, bytes.length);
    expect(back.every((value, i) => value === bytes[i]), true);
    socket.close();
  },
}, Socket === Package && "ws");

import axios from "axios";
import {http} from "./checks.mjs";
await http(async (url, {method, headers, body}) => {
  const answer = await axios.request({url, method, headers, data: body, responseType: "stream"});
  return {version: `HTTP/${answer.data.httpVersion ?? "1.1"}`, body: answer.data};
}, "axios");

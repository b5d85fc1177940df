"""A small mock of two providers' APIs, over HTTP/1.1 and HTTP/2, streaming as they do."""

import json
import threading
import time

from support.h2origin import H2Origin

def answer(credential):
    return f"The answer to {credential} is forty-two."


# What Gemini's own router asks first of a small model: how hard is the question?
_EASY = '{"complexity_reasoning": "easy", "complexity_score": 1}'


def _sse(events):
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        yield f"{name}data: {json.dumps(event)}\n\n".encode()
        time.sleep(0.02)


def _responses(text):
    """OpenAI's Responses API: one message, in two deltas."""
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
               "content": [{"type": "output_text", "text": text, "annotations": []}]}
    usage = {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}
    open_message = {**message, "status": "in_progress", "content": []}
    response = {"id": "resp_1", "object": "response"}
    yield {"type": "response.created", "response": {**response, "status": "in_progress"}}
    yield {"type": "response.output_item.added", "output_index": 0, "item": open_message}
    for piece in (text[:10], text[10:]):
        yield {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0,
               "content_index": 0, "delta": piece}
    yield {"type": "response.output_item.done", "output_index": 0, "item": message}
    yield {"type": "response.completed",
           "response": {**response, "status": "completed", "output": [message], "usage": usage}}


def _gemini(text):
    """generateContent, streamed: two candidates' parts, then the end."""
    for piece, more in ((text[:10], {}), (text[10:], {"finishReason": "STOP"})):
        content = {"role": "model", "parts": [{"text": piece}]}
        yield {"candidates": [{"content": content, "index": 0, **more}], "modelVersion": "mock",
               "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}


def reply(method, path, credential):
    """(status, content type, the pieces of the body)."""
    path = path.partition("?")[0]
    text = answer(credential.rpartition(" ")[2])
    if path.endswith("/responses") and method == "POST":
        return 200, "text/event-stream", _sse(_responses(text))
    if path.endswith("/responses"):       # Codex would rather have a WebSocket
        return 426, "application/json", [b'{"error": {"message": "over HTTP, please"}}']
    if path.endswith(":streamGenerateContent"):
        return 200, "text/event-stream", _sse(_gemini(text))
    if path.endswith(":generateContent"):
        whole = {"candidates": [{"content": {"role": "model", "parts": [{"text": _EASY}]},
                                 "finishReason": "STOP", "index": 0}],
                 "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 2}}
        return 200, "application/json", [json.dumps(whole).encode()]
    if path.endswith("/models"):
        return 200, "application/json", [b'{"object": "list", "data": [], "models": []}']
    return 404, "application/json", [b'{"error": {"message": "the mock has no such page"}}']


class Provider(H2Origin):
    """`asked`: (protocol, method, path, the credential) of each request."""

    def __init__(self, pair):
        self.asked = []
        self._own = threading.Lock()
        super().__init__(self._h2, pair, h1=self._h1, name="provider")

    def _take(self, protocol, method, path, get):
        value = get("authorization") or get("x-goog-api-key") or ""
        with self._own:
            self.asked.append((protocol, method, path, value))
        return reply(method, path, value)

    def _h2(self, stream):
        stream.read_all()
        status, kind, pieces = self._take("HTTP/2", stream.method, stream.path, stream.get)
        stream.head(status, [("content-type", kind)])
        for piece in pieces:
            stream.send(piece)
        stream.finish()

    def _h1(self, conn):
        while True:
            request = conn.read_request()
            status, kind, pieces = self._take("HTTP/1.1", request.method, request.target, request.get)
            conn.send((f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n").encode())
            for piece in pieces:
                conn.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            conn.send(b"0\r\n\r\n")

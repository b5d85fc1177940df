"""Asks both providers through their SDKs, at once and streamed, and says what came back."""

import os

import anthropic
import openai

QUESTION = [{"role": "user", "content": "What is the answer?"}]

client = anthropic.Anthropic(max_retries=0)
message = client.messages.create(model="mock", max_tokens=50, messages=QUESTION)
print("anthropic", anthropic.__version__, message.content[0].text)
with client.messages.stream(model="mock", max_tokens=50, messages=QUESTION) as stream:
    print("anthropic stream", "".join(stream.text_stream))
try:
    anthropic.Anthropic(api_key="sk-ant-of-my-own", max_retries=0).messages.create(
        model="mock", max_tokens=50, messages=QUESTION)
except anthropic.PermissionDeniedError as error:
    print("anthropic refused", error.response.headers.get("warder-reason"))

client = openai.OpenAI(max_retries=0)
reply = client.chat.completions.create(model="mock", messages=QUESTION)
print("openai", openai.__version__, reply.choices[0].message.content)
pieces = client.chat.completions.create(model="mock", messages=QUESTION, stream=True)
print("openai stream", "".join(piece.choices[0].delta.content or "" for piece in pieces))
try:
    openai.OpenAI(api_key="sk-of-my-own", max_retries=0).chat.completions.create(model="mock", messages=QUESTION)
except openai.PermissionDeniedError as error:
    print("openai refused", error.response.headers.get("warder-reason"))
print("held", os.environ["ANTHROPIC_API_KEY"], os.environ["OPENAI_API_KEY"])

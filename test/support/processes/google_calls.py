# Calls of clients of Google's API in Python, as their users make them: a JSON object with the client, the address of the gateway, its
# key and a model on each line of the input, and what the client made of the answers as JSON on each line of the output.
# Must never set more than the address, the key and the model.
import base64
import json
import sys

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def get_weather(city: str) -> str:
    """Weather of a city"""
    return f"sunny in {city}"


def genai(url, key, model):
    from google import genai as sdk
    from google.genai import errors, types

    client = sdk.Client(api_key=key, http_options=types.HttpOptions(base_url=url))
    text = client.models.generate_content(model=model, contents="Hello there")
    stream = list(client.models.generate_content_stream(model=model, contents="Hello there"))
    tools = client.models.generate_content(
        model=model,
        contents="[sandbox tool] How is it?",
        config=types.GenerateContentConfig(tools=[get_weather]),
    )
    answer = client.models.generate_content(
        model=model,
        contents="A city",
        config={
            "response_mime_type": "application/json",
            "response_schema": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]},
        },
    )
    picture = client.models.generate_content(
        model=model,
        contents=[types.Part.from_bytes(data=PICTURE, mime_type="image/png"), "Describe it"],
    )
    chat = client.chats.create(model=model)
    first = chat.send_message("[sandbox reasoning=9] First")
    second = chat.send_message("Second")
    try:
        wrong = sdk.Client(api_key="sk-wrong", http_options=types.HttpOptions(base_url=url))
        wrong.models.generate_content(model=model, contents="Hello")
        refused = None
    except errors.ClientError as error:
        refused = [error.code, error.status]
    return {
        "text": text.text,
        "streamed": "".join(chunk.text or "" for chunk in stream),
        "pieces": len(stream),
        "tokens": stream[-1].usage_metadata.total_token_count,
        "tool": tools.text,
        "city": json.loads(answer.text),
        "picture": picture.text,
        "chat": [first.text, second.text],
        "counted": client.models.count_tokens(model=model, contents="Hello there").total_tokens,
        "listed": model in [each.name.removeprefix("models/") for each in client.models.list()],
        "refused": refused,
    }


def langchain(url, key, model):
    from langchain_google_genai import ChatGoogleGenerativeAI

    chat = ChatGoogleGenerativeAI(model=model, google_api_key=key, base_url=url)
    calls = chat.bind_tools([get_weather]).invoke("[sandbox tool] How is it?").tool_calls
    return {
        "text": str(chat.invoke("Hello there").text),
        "streamed": "".join(str(chunk.text) for chunk in chat.stream("Hello there")),
        "tool": [call["name"] for call in calls],
    }


def llama_index(url, key, model):
    from google.genai import types
    from llama_index.core.llms import ChatMessage
    from llama_index.llms.google_genai import GoogleGenAI

    llm = GoogleGenAI(model=model, api_key=key, http_options=types.HttpOptions(base_url=url))
    return {
        "text": llm.complete("Hello there").text,
        "streamed": "".join(piece.delta or "" for piece in llm.stream_chat([ChatMessage(content="Hello there")])),
    }


def pydantic_ai(url, key, model):
    from pydantic_ai import Agent
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    served = GoogleModel(model, provider=GoogleProvider(api_key=key, base_url=url))
    agent = Agent(served, tools=[get_weather])
    return {
        "text": Agent(served).run_sync("Hello there").output,
        "tool": agent.run_sync("[sandbox tool] How is it?").output,
    }


CLIENTS = {"genai": genai, "langchain": langchain, "llama-index": llama_index, "pydantic-ai": pydantic_ai}

for line in sys.stdin:
    asked = json.loads(line)
    try:
        answer = {"result": CLIENTS[asked["client"]](asked["url"], asked["key"], asked["model"])}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer, default=str), flush=True)

# Calls of clients of Google's API in Python, as their users make them: a JSON object with the client, the address of the gateway, its
# key and a model on each line of the input, and what the client made of the answers as JSON on each line of the output.
# Must never set more than the address, the key and the model.
import asyncio
import base64
import json
import sys

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


CITY = {
    "title": "City",
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


def get_weather(city: str) -> str:
    """Weather of a city"""
    return f"sunny in {city}"


def rejected(work):
    """The error that a client raises, as text."""
    try:
        work()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


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
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_google_genai import ChatGoogleGenerativeAI

    def client(api_key):
        return ChatGoogleGenerativeAI(model=model, google_api_key=api_key, base_url=url)

    chat = client(key)
    equipped = chat.bind_tools([get_weather])
    question = HumanMessage("[sandbox tool] How is it?")
    asked = equipped.invoke([question])
    results = [ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"]) for call in asked.tool_calls]
    parts = [
        {"type": "text", "text": "Describe it"},
        {"type": "image_url", "image_url": f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"},
    ]
    return {
        "text": str(chat.invoke("Hello there").text),
        "streamed": "".join(str(chunk.text) for chunk in chat.stream("Hello there")),
        "tool": str(equipped.invoke([question, asked, *results]).text),
        "city": chat.with_structured_output(CITY).invoke("A city"),
        "picture": str(chat.invoke([HumanMessage(parts)]).text),
        "rejected": rejected(lambda: client("sk-wrong").invoke("Hello there")),
    }


def llama_index(url, key, model):
    from google.genai import types
    from llama_index.core.base.llms.types import ImageBlock, TextBlock
    from llama_index.core.llms import ChatMessage
    from llama_index.core.tools import FunctionTool
    from llama_index.llms.google_genai import GoogleGenAI

    def client(api_key):
        return GoogleGenAI(model=model, api_key=api_key, http_options=types.HttpOptions(base_url=url))

    llm = client(key)
    hello = [ChatMessage(content="Hello there")]
    parts = [TextBlock(text="Describe it"), ImageBlock(image=PICTURE, image_mimetype="image/png")]
    tool = FunctionTool.from_defaults(get_weather)
    return {
        "text": llm.complete("Hello there").text,
        "streamed": "".join(piece.delta or "" for piece in llm.stream_chat(hello)),
        "tool": str(llm.predict_and_call([tool], user_msg="[sandbox tool] How is it?")),
        "picture": llm.chat([ChatMessage(blocks=parts)]).message.content,
        "rejected": rejected(lambda: client("sk-wrong").complete("Hello there")),
    }


def pydantic_ai(url, key, model):
    from pydantic import create_model
    from pydantic_ai import Agent, BinaryContent
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    def client(api_key):
        return GoogleModel(model, provider=GoogleProvider(api_key=api_key, base_url=url))

    served = client(key)
    agent = Agent(served)

    async def streamed():
        async with agent.run_stream("Hello there") as answer:
            return "".join([piece async for piece in answer.stream_text(delta=True)])

    city = Agent(served, output_type=create_model("City", city=(str, ...)))
    return {
        "text": agent.run_sync("Hello there").output,
        "streamed": asyncio.run(streamed()),
        "tool": Agent(served, tools=[get_weather]).run_sync("[sandbox tool] How is it?").output,
        "city": city.run_sync("[sandbox tool] A city").output.model_dump(),
        "picture": agent.run_sync(["Describe it", BinaryContent(PICTURE, media_type="image/png")]).output,
        "rejected": rejected(lambda: Agent(client("sk-wrong")).run_sync("Hello there")),
    }


CLIENTS = {"genai": genai, "langchain": langchain, "llama-index": llama_index, "pydantic-ai": pydantic_ai}

for line in sys.stdin:
    asked = json.loads(line)
    try:
        answer = {"result": CLIENTS[asked["client"]](asked["url"], asked["key"], asked["model"])}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer, default=str), flush=True)

# Calls of official Python SDKs: a JSON object with the call's name, the vendor's address,
# its key and the arguments on each line of the input, and the SDK's result as JSON on each line of the output.
# Must never add an argument of its own: what the vendor is sent is the SDK's.
import json
import sys


def dashscope(url, key, kind, method, arguments):
    import dashscope as sdk

    sdk.base_http_api_url = f"{url}/api/v1"
    answer = getattr(getattr(sdk, kind), method)(api_key=key, **arguments)
    if answer.status_code != 200:
        raise RuntimeError(f"{answer.status_code} {answer.code}: {answer.message}")
    return dict(answer.output)


def ark(url, key):
    from byteplussdkarkruntime import Ark

    return Ark(base_url=url, api_key=key, max_retries=0)


def voyage(url, key):
    from voyageai import Client

    return Client(api_key=key, base_url=url)


def voyage_reranking(url, key, given):
    answer = voyage(url, key).rerank(**given)
    return {"results": [each._asdict() for each in answer.results], "total_tokens": answer.total_tokens}


def cohere(url, key):
    from cohere import ClientV2

    return ClientV2(api_key=key, base_url=url.removesuffix("/v2"), max_retries=0)


CALLS = {
    "dashscope.embeddings": lambda url, key, given: dashscope(url, key, "TextEmbedding", "call", given),
    "dashscope.generation": lambda url, key, given: dashscope(url, key, "MultiModalConversation", "call", given),
    "dashscope.video": lambda url, key, given: dashscope(url, key, "VideoSynthesis", "async_call", given),
    "ark.image": lambda url, key, given: ark(url, key).images.generate(**given).model_dump(),
    "voyage.embeddings": lambda url, key, given: vars(voyage(url, key).embed(**given)),
    "voyage.rerank": voyage_reranking,
    "cohere.rerank": lambda url, key, given: cohere(url, key).rerank(**given).model_dump(),
    "ark.video": lambda url, key, given: ark(url, key).content_generation.tasks.create(**given).model_dump(),
}

for line in sys.stdin:
    asked = json.loads(line)
    try:
        answer = {"result": CALLS[asked["call"]](asked["url"], asked["key"], asked["arguments"])}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer, default=str), flush=True)

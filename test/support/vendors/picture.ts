// A vendor of pictures whose results are on its own host, with any content and any fault, and a gateway that uses it and keeps
// results.

import type { Config } from '../../../src/config/schema'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../gateway'
import type { Json } from '../scenario'
import { type OddVendor, startVendor } from './vendor'

export interface PictureVendor extends OddVendor {
  /** Answers a request for a result; by default 1,000 bytes that differ for each path. */
  serve: (request: Request) => Response | Promise<Response>
  /** The answer to a request for pictures. */
  reply: () => string
}

/** The address of a result that no other test has. */
export function resultUrl(vendor: OddVendor, name = 'x.png'): string {
  return `${vendor.url}/results/${crypto.randomUUID()}/${name}?Signature=a%2Bb`
}

export function pictureReply(...urls: string[]): Json {
  const content = urls.map((image) => ({ image }))
  return {
    request_id: 'r-1',
    output: { choices: [{ finish_reason: 'stop', message: { role: 'assistant', content } }] },
    usage: { image_count: urls.length, width: 16, height: 16 },
  }
}

export function startPictureVendor(): PictureVendor {
  const vendor = startVendor()
  const pictures: PictureVendor = Object.assign(vendor, {
    serve: (request: Request) => png(bytesOf(new URL(request.url).pathname)),
    reply: () => JSON.stringify(pictureReply(resultUrl(vendor))),
  })
  vendor.answer = (request) =>
    request.method === 'GET'
      ? pictures.serve(request)
      : new Response(pictures.reply(), { headers: { 'content-type': 'application/json' } })
  return pictures
}

export function png(bytes: Uint8Array<ArrayBuffer>): Response {
  return new Response(bytes, { headers: { 'content-type': 'image/png' } })
}

/** Returns equal bytes for equal texts. */
export function bytesOf(text: string, count = 1_000): Uint8Array<ArrayBuffer> {
  const seed = new Bun.CryptoHasher('sha512').update(text).digest()
  return Uint8Array.from({ length: count }, (_, index) => (seed[index % 64] ?? 0) ^ (index >> 6))
}

/** A gateway with the model `picture` of that vendor, for one cent a picture. */
export function startKeeper(
  vendor: PictureVendor,
  artifacts: Config['artifacts'],
  options: TestGatewayOptions = {},
): Promise<TestGateway> {
  return startTestGateway({
    ...options,
    upstreams: { pictures: { kind: 'dashscope', baseUrl: vendor.url, apiKey: 'none' }, ...options.upstreams },
    models: {
      picture: { family: 'dashscope-images', upstream: 'pictures', price: { per_image: '0.01' } },
      ...options.models,
    },
    config: { ...options.config, ...(artifacts && { artifacts }) },
  })
}

const body = { model: 'picture', input: { messages: [{ role: 'user', content: [{ text: 'a fox' }] }] } }

export function draw(gateway: TestGateway, headers: Record<string, string> = {}): Promise<Response> {
  return gateway.post('/v1/images/generations', body, headers)
}

/** The address in the answer. */
export async function drawnUrl(gateway: TestGateway, headers?: Record<string, string>): Promise<string> {
  const response = await draw(gateway, headers)
  const json: Json = await response.json()
  return json.output.choices[0].message.content[0].image
}

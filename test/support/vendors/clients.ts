// The official SDKs of vendors, as clients of the simulated vendors and of a gateway in front of them.

import { AnthropicBedrock } from '@anthropic-ai/bedrock-sdk'
import Anthropic from '@anthropic-ai/sdk'
import { BedrockRuntimeClient } from '@aws-sdk/client-bedrock-runtime'
import { GoogleGenAI } from '@google/genai'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { CohereClientV2 } from 'cohere-ai'
import Groq from 'groq-sdk'
import { Ollama } from 'ollama'
import OpenAI, { AzureOpenAI } from 'openai'
import { VoyageAIClient } from 'voyageai'
import type { Sandbox, VendorName } from '../../../sandbox'
import { CancelToken } from '../../../src/lib/cancel-token'
import { upstreamKinds } from '../../../src/upstreams/kinds'
import { fetchModelList } from '../../../src/upstreams/listing'
import type { TestGateway } from '../gateway'

// Loaded by names that the compiler does not follow: their types would replace the stream types in the whole program.
const untyped = (name: string) => import(name)
const { Mistral } = await untyped('@mistralai/mistralai')
const { OpenRouter } = await untyped('@openrouter/sdk')

export class VendorClients {
  constructor(
    private readonly sandbox: Sandbox,
    private readonly gateway: TestGateway,
  ) {}

  /** The client of a vendor that speaks OpenAI's API. */
  openai(vendor: VendorName = 'openai') {
    const path = vendor === 'google' ? '/openai' : ''
    return new OpenAI({ baseURL: this.sandbox.baseUrls[vendor] + path, apiKey: this.key(vendor) })
  }

  /** OpenAI's client of the gateway. */
  own() {
    return new OpenAI({ baseURL: `${this.gateway.url}/v1`, apiKey: this.gateway.secret })
  }

  azure() {
    return new AzureOpenAI({
      endpoint: this.host('azure'),
      apiKey: this.key('azure'),
      apiVersion: '2024-10-21',
    })
  }

  anthropic() {
    return new Anthropic({ baseURL: this.host('anthropic'), apiKey: this.key('anthropic'), authToken: null })
  }

  /** Anthropic's client of the gateway. */
  ownAnthropic() {
    return new Anthropic({ baseURL: this.gateway.url, apiKey: this.gateway.secret, authToken: null })
  }

  bedrock() {
    const { accessKeyId: awsAccessKey, secretAccessKey: awsSecretKey, sessionToken } = this.aws()
    return new AnthropicBedrock({
      ...{ awsAccessKey, awsSecretKey, awsSessionToken: sessionToken, awsRegion: 'eu-central-1' },
      baseURL: this.host('bedrock'),
    })
  }

  converse() {
    return new BedrockRuntimeClient({
      region: 'eu-central-1',
      endpoint: this.host('bedrock'),
      credentials: this.aws(),
      requestHandler: new NodeHttpHandler(),
    })
  }

  google() {
    const httpOptions = { baseUrl: this.host('google'), apiVersion: 'v1beta' }
    return new GoogleGenAI({ apiKey: this.key('google'), httpOptions })
  }

  cohere() {
    return new CohereClientV2({ token: this.key('cohere'), baseUrl: this.host('cohere') })
  }

  voyage() {
    return new VoyageAIClient({ apiKey: this.key('voyage'), environment: this.sandbox.baseUrls.voyage })
  }

  groq() {
    return new Groq({ apiKey: this.key('groq'), baseURL: this.host('groq') })
  }

  mistral() {
    return new Mistral({ apiKey: this.key('mistral'), serverURL: this.host('mistral') })
  }

  openrouter() {
    return new OpenRouter({
      apiKey: this.key('openrouter'),
      serverURL: this.sandbox.baseUrls.openrouter,
    })
  }

  ollama() {
    return new Ollama({ host: this.host('ollama') })
  }

  /** The answer of the gateway to a request in a form that no SDK has. */
  async post(path: string, body: object): Promise<unknown> {
    const response = await this.gateway.post(path, body)
    if (!response.ok) throw new Error(await response.text())
    return response.json()
  }

  /** The list of a vendor's models as the gateway fetches it. */
  listOf(vendor: VendorName) {
    const upstream = this.gateway.server.world.catalogue.upstreams.get(vendor)
    const kind = upstreamKinds.get(vendor)
    if (!upstream || !kind) throw new Error(`no upstream ${vendor}`)
    return fetchModelList(upstream, kind, new CancelToken().signal)
  }

  private key(vendor: VendorName) {
    return this.sandbox.secrets[vendor]
  }

  /** The address of a vendor as its SDK takes it: without the path that the SDK adds. */
  private host(vendor: VendorName) {
    return `${new URL(this.sandbox.baseUrls[vendor]).origin}/${vendor}`
  }

  private aws() {
    const [accessKeyId = '', secretAccessKey = '', sessionToken = ''] = this.key('bedrock').split(':')
    return { accessKeyId, secretAccessKey, sessionToken }
  }
}

// The sandbox: simulated vendors on one loopback port, for demos without vendor keys and for tests. It must never listen on an
// external address, call anything, or store requests unless asked to.

import { anthropic } from './anthropic/simulator'
import { ark } from './ark/simulator'
import { azure } from './azure/simulator'
import { bedrock } from './bedrock/simulator'
import { cohere } from './cohere/simulator'
import { dashscope } from './dashscope/simulator'
import { deepseek } from './deepseek/simulator'
import { deliver, pause, untilEnded } from './delivery'
import { directiveMark, promptText, readDirectives } from './directives'
import { elevenlabs } from './elevenlabs/simulator'
import { fal } from './fal/simulator'
import { provokedReply, UseCounter } from './faults'
import { google } from './google/simulator'
import { groq } from './groq/simulator'
import { createIdentityProvider } from './identity-provider'
import { asObject, parseJson } from './json'
import { minimax } from './minimax/simulator'
import { mistral } from './mistral/simulator'
import { moonshot } from './moonshot/simulator'
import { ollama } from './ollama/simulator'
import { openai } from './openai/simulator'
import { openrouter } from './openrouter/simulator'
import { keyIn, PromptCaches } from './prompt-cache'
import { fileReply, jsonReply } from './replies'
import { runway } from './runway/simulator'
import type { FormField, Reply, Simulator, VendorRequest } from './simulator'
import { modelIn, withStandIn } from './stand-ins'
import { vertex } from './vertex/simulator'
import { voyage } from './voyage/simulator'
import { xai } from './xai/simulator'
import { zai } from './zai/simulator'

export { directiveHelp } from './directives'

export interface SandboxCall {
  vendor: string
  method: string
  /** The path and query as the vendor sees them. */
  path: string
  /** Headers by lower-case name. */
  headers: Record<string, string>
  body: string
  /** The fields of a form, instead of a body. */
  form?: readonly FormField[]
  /** When the request arrived, by performance.now(). */
  at: number
  /** True if the client disconnected before the reply was complete. */
  aborted: boolean
}

export interface Sandbox {
  /** Base URLs to configure for upstreams of each kind. */
  baseUrls: Record<VendorName, string>
  /** The API key that each simulator accepts. */
  secrets: Record<VendorName, string>
  /** The address of the simulated identity provider. */
  issuer: string
  /** Recorded requests; empty unless recording. */
  calls: SandboxCall[]
  /** Names of keys that are over their rate: their requests are refused with 429. */
  busyKeys: Set<string>
  /** Whether a vendor's simulator knows a model by the vendor's name, so that no stand-in answers instead. */
  knows(vendor: VendorName, model: string): boolean
  stop(): Promise<void>
}

export interface SandboxOptions {
  /** Stores every request in `calls`; off by default, because a long demo must not grow. */
  record?: boolean
  port?: number
  /** The time of all vendors, in milliseconds since 1970. Default: the machine's. */
  now?: () => number
  /** Pause between the chunks of a stream, in milliseconds. */
  tokenDelayMs?: number
  /** Gives each key a prompt cache of its own, as vendors do. */
  promptCaches?: boolean
  /** Simulates unknown models as a model of the same kind; otherwise they are refused as by the real vendor. */
  anyModel?: boolean
}

/** The simulated vendors, by their kind of upstream. */
const simulators = {
  openai,
  dashscope,
  google,
  voyage,
  xai,
  anthropic,
  ark,
  cohere,
  azure,
  bedrock,
  vertex,
  deepseek,
  groq,
  mistral,
  moonshot,
  ollama,
  openrouter,
  zai,
  elevenlabs,
  minimax,
  fal,
  runway,
} as const satisfies Record<string, Simulator>
export type VendorName = keyof typeof simulators
const vendorNames = Object.keys(simulators) as VendorName[]

/** The path of the identity provider, which no vendor has. */
const IDENTITY_PROVIDER = '/identity-provider'
/** The path of a vendor's results. */
const FILES = '/files'

/** The wait that is requested of a key over its rate. */
const BUSY_SECONDS = 20
const NO_WORDS = { text: undefined, code: undefined }

const bodyBytesMax = 256 * 1024 * 1024

export function startSandbox(options: SandboxOptions = {}): Sandbox {
  const calls: SandboxCall[] = []
  const busyKeys = new Set<string>()
  const promptCaches = options.promptCaches ? new PromptCaches() : undefined
  const live = new Set<AbortController>()
  const uses = new UseCounter()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: options.port ?? 0,
    maxRequestBodySize: bodyBytesMax,
    // A reply that is cut on purpose is not an error to report.
    development: false,
    async fetch(request, listener) {
      listener.timeout(request, 0)
      if (isOfIdentityProvider(request)) return identityProvider(request)
      const ended = new AbortController()
      live.add(ended)
      const call = await readCall(request)
      if (options.record) calls.push(call)
      let complete = false
      const finish = () => {
        complete = true
        live.delete(ended)
      }
      const leave = () => {
        if (complete) return
        call.aborted = true
        live.delete(ended)
        ended.abort()
      }
      if (request.signal.aborted) leave()
      else request.signal.addEventListener('abort', leave)
      return respond(
        call,
        new URL(request.url).origin,
        { uses, busyKeys, promptCaches },
        options,
        ended.signal,
        finish,
      )
    },
  })
  const origin = `http://127.0.0.1:${server.port}`
  const issuer = `${origin}${IDENTITY_PROVIDER}`
  const identityProvider = createIdentityProvider(issuer, options.now ?? Date.now)
  return {
    issuer,
    baseUrls: perVendor((name) => `${origin}/${name}${simulators[name].basePath}`),
    secrets: perVendor((name) => {
      const { secret }: Simulator = simulators[name]
      return typeof secret === 'string' ? secret : secret(`${origin}/${name}`)
    }),
    calls,
    busyKeys,
    knows: (vendor, model) => simulators[vendor].knows(model),
    async stop() {
      for (const controller of live) controller.abort()
      live.clear()
      await server.stop(true)
    },
  }
}

function isOfIdentityProvider({ url }: Request): boolean {
  return new URL(url).pathname.startsWith(`${IDENTITY_PROVIDER}/`)
}

function perVendor(value: (name: VendorName) => string): Record<VendorName, string> {
  return Object.fromEntries(vendorNames.map((name) => [name, value(name)])) as Record<VendorName, string>
}

async function readCall(request: Request): Promise<SandboxCall> {
  const { pathname, search } = new URL(request.url)
  const [, vendor = '', rest = ''] = /^\/([^/]*)(.*)$/.exec(pathname) ?? []
  return {
    vendor,
    method: request.method,
    path: rest + search,
    headers: Object.fromEntries(request.headers),
    ...(await readContent(request)),
    at: performance.now(),
    aborted: false,
  }
}

/** The content of a request; empty if the client disconnects while sending. */
async function readContent(request: Request): Promise<{ body: string; form?: FormField[] }> {
  const isForm = request.headers.get('content-type')?.startsWith('multipart/form-data')
  if (!isForm) return { body: await request.text().catch(() => '') }
  const form = await request.formData().catch(() => undefined)
  return { body: '', ...(form && { form: [...form.entries()] as FormField[] }) }
}

/** The state that earlier requests have left in the vendors. */
interface Memory {
  uses: UseCounter
  busyKeys: ReadonlySet<string>
  promptCaches: PromptCaches | undefined
}

async function respond(
  call: SandboxCall,
  origin: string,
  { uses, busyKeys, promptCaches }: Memory,
  { tokenDelayMs = 0, anyModel = false, now = Date.now }: SandboxOptions,
  ended: AbortSignal,
  finished: () => void,
): Promise<Response> {
  const simulator: Simulator | undefined = vendorNames.includes(call.vendor as VendorName)
    ? simulators[call.vendor as VendorName]
    : undefined
  if (!simulator) {
    const message = `No vendor at this path. There are: ${vendorNames.join(', ')}.`
    return deliver(jsonReply(404, { error: { message } }), { directives: {}, tokenDelayMs, ended, finished })
  }
  const key = keyIn(call.headers)
  const request = readRequest({ ...call, headers: key.headers }, `${origin}/${call.vendor}${FILES}`, now())
  const file =
    request.path.startsWith(FILES) && simulator.file?.(request.path.slice(FILES.length), request.query)
  if (file)
    return deliver(fileReply(file, request.headers.range), {
      directives: {},
      tokenDelayMs,
      ended,
      finished,
    })
  const refused =
    simulator.refuse(request) ??
    (busyKeys.has(key.name)
      ? simulator.fail(request, { status: 429, retryAfterSeconds: BUSY_SECONDS, ...NO_WORDS })
      : undefined)
  if (refused) return deliver(refused, { directives: {}, tokenDelayMs, ended, finished })
  const prompt = promptText(request.json ?? request.form)
  const wanted = readDirectives(prompt)
  const spent = wanted.times !== undefined && uses.count(directiveMark(prompt)) > wanted.times
  request.directives = spent ? {} : wanted
  useCache(request, `${call.vendor} ${key.name}`, promptCaches)
  const { directives } = request
  if (directives.hang) await untilEnded(ended)
  if (directives.delayMs !== undefined) await pause(directives.delayMs, ended)
  const reply = provokedReply(simulator, request) ?? (await answerOf(simulator, request, anyModel))
  return deliver(reply, { directives, tokenDelayMs, ended, finished })
}

/** Counts the part of the prompt in the key's cache, unless a directive states it. */
function useCache(request: VendorRequest, key: string, caches: PromptCaches | undefined): void {
  const body = asObject(request.json)
  if (caches && body) request.directives.cached ??= caches.read(key, body)
}

function answerOf(simulator: Simulator, request: VendorRequest, anyModel: boolean): Reply | Promise<Reply> {
  const { modelOf } = simulator
  const model = anyModel ? (modelOf ? modelOf(request) : modelIn(request)) : undefined
  const isKnown = model === undefined || simulator.knows(model)
  return simulator.answer((isKnown ? undefined : withStandIn(simulator, request)) ?? request)
}

function readRequest(call: SandboxCall, filesUrl: string, now: number): VendorRequest {
  const { method, headers, body } = call
  const [path = '', query = ''] = call.path.split('?', 2)
  return {
    method,
    path,
    query: new URLSearchParams(query),
    headers,
    text: body,
    json: parseJson(body),
    form: call.form,
    filesUrl,
    now,
    directives: {},
  }
}

// Simulates OpenAI's responses: items for thoughts, texts and calls of a model, whole and as events in the recorded order. It must
// never store an answer: only its receiver has it.

import { answerTo, type Choice, countOutput, type Question, type Tool, type ToolChoice } from '../answers'
import { asNumber, asObject, asObjects, asString, type JsonObject } from '../json'
import { countTokens, cutIntoPieces } from '../pieces'
import { hexId, jsonReply } from '../replies'
import type { Reply, VendorRequest } from '../simulator'
import { reportUsage } from '../usage'
import { errorReply, headers, unknownModel } from './errors'
import { datedName, isChatModel, reasoningTokens } from './models'
import { type BuiltItem, framesOf } from './response-events'
import { findResponseFault, findResponseModelFault, limitOf, sealedFor } from './response-fields'

/** Account of the vendor that answers unless a directive names another. */
const USUAL_ACCOUNT = '1'

export function answerResponse(request: VendorRequest, body: JsonObject): Reply {
  const account = request.directives.account ?? USUAL_ACCOUNT
  const refused = refusal(body, account)
  if (refused) return refused
  const simulated = new SimulatedResponse(request, body, asString(body.model) ?? '', account)
  if (body.stream !== true) return jsonReply(200, simulated.whole(), headers())
  const { frames, failure } = framesOf(simulated)
  return { status: 200, headers: headers(), body: { kind: 'events', stream: { frames, failure } } }
}

/** The number of tokens of a request, according to the vendor's own endpoint for it. */
export function countResponse(request: VendorRequest, body: JsonObject): Reply {
  const refused = refusal(body, request.directives.account ?? USUAL_ACCOUNT)
  if (refused) return refused
  const tokens = request.directives.promptTokens ?? countInput(body)
  return jsonReply(200, { object: 'response.input_tokens', input_tokens: tokens }, headers())
}

function refusal(body: JsonObject, account: string): Reply | undefined {
  const fault = findResponseFault(body)
  if (fault) return errorReply(fault)
  const model = asString(body.model) ?? ''
  if (!isChatModel(model)) return unknownModel(model)
  const modelFault = findResponseModelFault(model, body, account)
  return modelFault && errorReply(modelFault)
}

/** A tool under the name by which the simulated model knows it. */
interface KnownTool extends Tool {
  type: 'function' | 'custom'
  own: string
  namespace: string | undefined
}

export class SimulatedResponse {
  readonly items: readonly BuiltItem[]
  readonly id = `resp_${hexId()}`
  readonly #choice: Choice
  readonly #tools: KnownTool[]
  readonly #createdAt = Math.floor(Date.now() / 1000)

  constructor(
    readonly request: VendorRequest,
    readonly body: JsonObject,
    readonly model: string,
    readonly account: string,
  ) {
    this.#tools = knownTools(body)
    const [choice] = answerTo(this.#question())
    this.#choice = choice ?? { reasoning: [], pieces: [], calls: [], end: 'stop' }
    this.items = this.#build()
  }

  get isIncomplete(): boolean {
    return this.#choice.end === 'length'
  }

  whole(): JsonObject {
    return this.response(
      this.isIncomplete ? 'incomplete' : 'completed',
      this.items.map(({ whole }) => whole),
    )
  }

  /** The response with its output so far. Usage comes at the end. */
  response(status: string, output: unknown[], error: JsonObject | null = null): JsonObject {
    const { body, model, request } = this
    const { tier, searches } = request.directives
    const requested = asString(body.service_tier)
    const hasEnded = status === 'completed' || status === 'incomplete'
    const isCut = status === 'incomplete'
    return {
      id: this.id,
      object: 'response',
      created_at: this.#createdAt,
      status,
      background: false,
      completed_at: status === 'completed' ? this.#createdAt : null,
      error,
      frequency_penalty: 0,
      incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
      instructions: body.instructions ?? null,
      max_output_tokens: body.max_output_tokens ?? null,
      max_tool_calls: body.max_tool_calls ?? null,
      model: datedName(model),
      output,
      parallel_tool_calls: body.parallel_tool_calls ?? true,
      presence_penalty: 0,
      previous_response_id: null,
      prompt_cache_key: body.prompt_cache_key ?? null,
      reasoning: { effort: asObject(body.reasoning)?.effort ?? null, summary: null },
      safety_identifier: body.safety_identifier ?? null,
      service_tier: tier ?? (requested === undefined || requested === 'auto' ? 'default' : requested),
      store: body.store ?? true,
      temperature: body.temperature ?? 1,
      text: { format: { type: 'text' }, verbosity: 'medium', ...asObject(body.text) },
      tool_choice: body.tool_choice ?? 'auto',
      tools: body.tools ?? [],
      top_logprobs: 0,
      top_p: body.top_p ?? 1,
      truncation: 'disabled',
      usage: hasEnded ? reportUsage(this.#usage(), request.directives.usage) : null,
      user: body.user ?? null,
      metadata: body.metadata ?? {},
      ...(searches !== undefined && hasEnded && { tool_usage: { web_search: { num_requests: searches } } }),
    }
  }

  #usage(): JsonObject {
    const { promptTokens, cached = 0, written = 0 } = this.request.directives
    const input = Math.max(promptTokens ?? countInput(this.body), cached + written)
    const thoughts = this.#choice.reasoning.length
    const output = countOutput(this.#choice) + thoughts
    return {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: thoughts },
      total_tokens: input + output,
    }
  }

  #question(): Question {
    const { body, request, model } = this
    const items = inputItems(body.input)
    const last = items.at(-1)
    const isResult = /_output$/.test(asString(last?.type) ?? '')
    const { directives } = request
    const effort = asObject(body.reasoning)?.effort
    return {
      said: textOf(items.findLast(({ role }) => role === 'user')?.content),
      toolResult: isResult ? textOf(last?.output) : undefined,
      tools: this.#tools,
      toolChoice: readToolChoice(body.tool_choice, this.#tools),
      format: readFormat(asObject(asObject(body.text)?.format)),
      choices: 1,
      stops: [],
      tokenLimit: limitOf(body),
      reasoningTokens: directives.reasoning ?? reasoningTokens(model, effort),
      directives,
    }
  }

  #build(): BuiltItem[] {
    const { reasoning, pieces, calls } = this.#choice
    const items: BuiltItem[] = []
    if (reasoning.length > 0) items.push(this.#reasoning(reasoning))
    items.push(...searchItems(this.body, this.request.directives.searches ?? 0))
    if (
      pieces.length > 0 ||
      (calls.length === 0 && reasoning.length === 0 && !this.request.directives.empty)
    ) {
      items.push(this.#message(pieces))
    }
    for (const call of calls) {
      const tool = this.#tools.find(({ name }) => name === call.name)
      if (tool) items.push(callItem(tool, call.pieces))
    }
    return items
  }

  #reasoning(thoughts: string[]): BuiltItem {
    const id = `rs_${hexId()}`
    const { reasoning, include } = this.body
    const isSummed = asObject(reasoning)?.summary !== undefined && asObject(reasoning)?.summary !== null
    const isSealed = Array.isArray(include) && include.includes('reasoning.encrypted_content')
    const pieces = isSummed ? thoughts : []
    const summary = isSummed ? [{ type: 'summary_text', text: thoughts.join('') }] : []
    const sealed = isSealed ? { encrypted_content: sealedFor(this.account, id) } : {}
    return { kind: 'reasoning', pieces, whole: { id, type: 'reasoning', ...sealed, summary } }
  }

  #message(pieces: string[]): BuiltItem {
    const part = { type: 'output_text', annotations: [], logprobs: [], text: pieces.join('') }
    const status = this.isIncomplete ? 'incomplete' : 'completed'
    const whole = { id: `msg_${hexId()}`, type: 'message', status, content: [part], role: 'assistant' }
    return { kind: 'message', pieces, whole }
  }
}

/** The searches of an answer, limited by the request: `ResponseFunctionWebSearch` of the SDK openai 6. */
function searchItems(body: JsonObject, searches: number): BuiltItem[] {
  const offers = toolsIn(body).some(({ type }) => asString(type)?.startsWith('web_search'))
  const count = offers ? Math.min(searches, asNumber(body.max_tool_calls) ?? searches) : 0
  return Array.from({ length: count }, (_none, place) => {
    const action = { type: 'search', query: `query ${place + 1}` }
    const whole = { id: `ws_${hexId()}`, type: 'web_search_call', status: 'completed', action }
    return { kind: 'search', pieces: [], whole }
  })
}

function callItem({ type, own, namespace }: KnownTool, made: string[]): BuiltItem {
  const common = {
    status: 'completed',
    call_id: `call_${hexId(24)}`,
    name: own,
    ...(namespace && { namespace }),
  }
  if (type === 'custom') {
    const pieces = cutIntoPieces(`The sandbox calls ${own}.`)
    const whole = { id: `ctc_${hexId()}`, type: 'custom_tool_call', ...common, input: pieces.join('') }
    return { kind: 'custom', pieces, whole }
  }
  const whole = { id: `fc_${hexId()}`, type: 'function_call', ...common, arguments: made.join('') }
  return { kind: 'function', pieces: made, whole }
}

/** All tools of a request, including those of namespaces and items. */
function knownTools(body: JsonObject): KnownTool[] {
  return toolsIn(body).flatMap((tool) =>
    tool.type === 'namespace'
      ? asObjects(tool.tools).flatMap((inner) => knownTool(inner, asString(tool.name)))
      : knownTool(tool),
  )
}

/** The tools of a request, and those that items add. */
function toolsIn(body: JsonObject): JsonObject[] {
  const added = inputItems(body.input).flatMap(({ type, tools }) =>
    type === 'additional_tools' ? asObjects(tools) : [],
  )
  return [...asObjects(body.tools), ...added]
}

function knownTool(tool: JsonObject, namespace?: string): KnownTool[] {
  const { type } = tool
  if (type !== 'function' && type !== 'custom') return []
  const own = asString(tool.name) ?? 'tool'
  const name = namespace === undefined ? own : `${namespace}.${own}`
  return [{ type, own, namespace, name, schema: tool.parameters }]
}

function readToolChoice(choice: unknown, tools: readonly KnownTool[]): ToolChoice {
  if (choice === 'none' || choice === 'required') return choice
  const { type, name, mode } = asObject(choice) ?? {}
  if (type === 'allowed_tools') return mode === 'required' ? 'required' : 'auto'
  const chosen = tools.find(({ own }) => own === name)
  return chosen ? { name: chosen.name } : 'auto'
}

function readFormat(format: JsonObject | undefined): Question['format'] {
  if (format?.type === 'json_object') return 'json'
  return format?.type === 'json_schema' ? { schema: format.schema } : 'text'
}

function inputItems(input: unknown): JsonObject[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : asObjects(input)
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return asObjects(content)
    .map((part) => asString(part.text) ?? asString(part.refusal) ?? '')
    .filter((text) => text !== '')
    .join('\n')
}

const tokensPerItem = 3
const tokensPerMedium = 85

function countInput({ input, instructions, tools }: JsonObject): number {
  let sum = tokensPerItem + countTokens(asString(instructions) ?? '')
  if (asObjects(tools).length > 0) sum += countTokens(JSON.stringify(tools))
  for (const { content, output, name, arguments: called, input: raw } of inputItems(input)) {
    sum += tokensPerItem + countTokens([textOf(content), textOf(output)].join(''))
    sum += countTokens([name, called, raw].map((text) => asString(text) ?? '').join(''))
    for (const { type } of asObjects(content)) {
      if (type === 'input_image' || type === 'input_file') sum += tokensPerMedium
    }
  }
  return sum
}

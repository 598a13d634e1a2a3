// Contents of Gemini models by their own API. The caller's text passes through, except what the model refuses; answers return with
// the gateway's id and the charged figures. Each event has both, so each is parsed and written again; all other members stay as the
// vendor sent them. Unknown fields and parts must never be refused: clients and models know more of them than the gateway does.

import { nativeCall } from '../../contract/call'
import type { Call, MadeFamily, Model, ParsedRequest, Quantities, Translator } from '../../contract/family'
import { hasFailed, type Reading } from '../../contract/reading'
import { inputTokensOf, outputTokensOf } from '../../contract/units'
import { invalidRequest } from '../../lib/errors'
import { asObject } from '../../lib/objects'
import {
  mediaTokensOfConversation,
  outputOfConversation,
  type QuoteRules,
  quoteConversation,
  textsOfConversation,
} from '../conversation/quote'
import { GeminiBody, memberOf, plainGemini } from '../dialects/gemini/body'
import { tierOf } from '../dialects/gemini/read'
import { cutGemini, eventOf, usageInContents } from '../dialects/gemini/write'
import { geminiFigures, readGeminiEvent, readGeminiReply, thinkingTokensIn } from '../protocols/gemini/read'
import { geminiPath } from '../protocols/gemini/write'
import { OPEN_SEARCHES } from '../surcharges'
import { edited } from '../traits/edit'
import { geminiEdit } from '../traits/gemini'
import { translatedOnce } from '../translation'
import { contentsFieldRules } from './fields'
import { candidatesIn, costOfContents } from './request'
import { withOwnSignatures } from './signatures'
import { inCamelCase } from './spelling'

type Fields = Record<string, unknown>
type Request = ParsedRequest<GeminiBody>

const costOf = translatedOnce((body: GeminiBody, _model) => costOfContents(body))
const RULES: QuoteRules = { watchesFilms: true, drawsPictures: true }
/**
 * Tokens held for a request in which the vendor runs a tool. This API also has no setting that limits the searches of a request.
 */
const OPEN_TOKENS = 65_536
/** Tools of the vendor whose results the model reads, and that cost nothing but those tokens. */
const OPEN_TOOLS = ['urlContext', 'codeExecution']
/** Members that the path of the request sets. */
const IN_ADDRESS = ['model', 'stream']

export const geminiContents: MadeFamily<GeminiBody> = {
  kind: 'made',
  name: 'gemini-contents',
  operation: 'contents',
  units: [['input_token', 'output_token']],
  dialect: 'gemini',
  seals: true,
  body: GeminiBody,
  fieldRules: contentsFieldRules,

  check(body, model) {
    tierOf(body)
    geminiEdit(inCamelCase(body), model)
    const config = asObject(memberOf(body, 'generationConfig'))
    if (body.stream !== true || candidatesIn(config) === 1) return
    const at = 'generationConfig.candidateCount'
    throw invalidRequest(
      at,
      `Invalid '${at}': ${model.id} streams one candidate. Request several without a stream.`,
    )
  },

  quote(parsed, model) {
    const quantities = quoteConversation(costOf(parsed.body, model), parsed, model, RULES)
    const searches = hasTool(parsed.body, 'googleSearch')
    if (!searches && !OPEN_TOOLS.some((name) => hasTool(parsed.body, name))) return quantities
    // The model also reads what the vendor finds, which may fill its whole context.
    const most = model.contextTokens ?? (quantities.input_token ?? 0) + OPEN_TOKENS
    const held = { ...quantities, input_token: most }
    return searches ? { ...held, web_search: OPEN_SEARCHES, grounded_prompt: 1 } : held
  },

  output(body, model) {
    const { thinkingBudget } = asObject(
      inCamelCase(asObject(memberOf(memberOf(body, 'generationConfig'), 'thinkingConfig'))),
    )
    const thinkingTokens = typeof thinkingBudget === 'number' ? Math.max(0, thinkingBudget) : 0
    return outputOfConversation(costOf(body, model), model, RULES, thinkingTokens)
  },

  call(parsed, model) {
    const stream = parsed.body.stream === true
    const path = geminiPath(model, stream ? 'streamGenerateContent?alt=sse' : 'generateContent')
    return { path, protocol: 'native', body: bodyFor(parsed, model), stream }
  },

  read: readGeminiReply,
  reply: ([reply], { at }, model, usage) => shown(asObject(reply), model, usage, at),

  stream: {
    // The event with the finish reason is the last.
    end: null,
    showsUsage: () => true,
    read: readGeminiEvent,
    translate: (parsed, model) => new ContentsEvents(parsed, model),
  },

  tokenCount: {
    call: (parsed, model) => nativeCall(geminiPath(model, 'countTokens'), { json: countedIn(parsed, model) }),
    read(reply) {
      const { totalTokens: tokens } = asObject(reply)
      return typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : undefined
    },
  },

  texts: (body, model) => textsOfConversation(costOf(body, model)),
  mediaTokens: (body, model) => mediaTokensOfConversation(costOf(body, model)),
  plain: plainGemini,
}

function hasTool({ tools }: GeminiBody, name: string): boolean {
  return tools?.some((tool) => memberOf(tool, name) !== undefined) === true
}

/** The body for the vendor: an edit of the caller's text, or the whole body if its names are in the other spelling. */
function bodyFor(parsed: Request, model: Model): NonNullable<Call['body']> {
  const { body, outputTokens } = parsed
  const own = inCamelCase(body)
  const edit = geminiEdit(own, model)
  edit.drop.push(...IN_ADDRESS)
  if (outputTokens !== undefined) {
    const { set, ...rest } = edit.inside.generationConfig ?? {}
    edit.inside.generationConfig = { ...rest, set: { ...set, maxOutputTokens: String(outputTokens) } }
  }
  const contents = withOwnSignatures(parsed, model)
  if (contents !== body.contents) edit.set.contents = JSON.stringify(contents)
  return own === body ? { edit } : { json: edited(own, edit) }
}

/** The request to count. Google's own API counts instructions and tools only within a whole request. */
function countedIn(parsed: Request, model: Model): Fields {
  const { systemInstruction, tools, toolConfig } = inCamelCase(parsed.body)
  const contents = withOwnSignatures(parsed, model)
  const request = { contents, systemInstruction, tools, toolConfig }
  if (model.upstream.kind === 'vertex') return { contents, systemInstruction, tools }
  const [name = ''] = geminiPath(model, '').slice(1).split(':')
  return { generateContentRequest: { model: decodeURIComponent(name), ...request } }
}

/** The vendor's answer with the gateway's id of the model, and with the charged figures if those differ. */
function shown(reply: Fields, model: Model, usage: Quantities, at: number): Fields {
  const { usageMetadata: reported } = reply
  const figures = geminiFigures(reported)
  const isSame =
    figures !== undefined &&
    figures !== 'invalid' &&
    inputTokensOf(figures) === inputTokensOf(usage) &&
    outputTokensOf(figures) === outputTokensOf(usage)
  return {
    ...reply,
    ...(!isSame && { usageMetadata: usageInContents(usage, thinkingTokensIn(reply)) }),
    modelVersion: model.id,
    responseId: reply.responseId ?? at.toString(36),
  }
}

/** Passes the events of a stream on. The last one waits for the charged figures. */
class ContentsEvents implements Translator {
  private last: Fields | undefined
  private id: unknown
  private thinkingTokens = 0

  constructor(
    private readonly parsed: Request,
    private readonly model: Model,
  ) {}

  push(event: object, _candidate: number, reading: Reading): string {
    const { responseId: id } = event as Fields
    this.id ??= id
    this.thinkingTokens = thinkingTokensIn(event) || this.thinkingTokens
    if (reading.end === 'finished') {
      this.last = event as Fields
      return ''
    }
    const isError = hasFailed(reading) && !('candidates' in event)
    return eventOf(isError ? event : { ...event, modelVersion: this.model.id })
  }

  finish(usage: Quantities): string {
    return this.last ? eventOf(shown(this.last, this.model, usage, this.parsed.at)) : ''
  }

  cut(usage: Quantities): string {
    const id = typeof this.id === 'string' ? this.id : this.parsed.at.toString(36)
    return eventOf({
      ...cutGemini(usage, this.thinkingTokens),
      modelVersion: this.model.id,
      responseId: id,
    })
  }
}

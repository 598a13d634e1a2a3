// Responses requests with one changed value, at every place: each is refused with the name of a field, or translated to
// a valid request. No change makes the translation fail.

import { describe, expect, test } from 'bun:test'
import type { MadeFamily, Model } from '../../src/contract/family'
import { families } from '../../src/families'
import { addedBytes } from '../../src/families/dialects/responses/settings'
import type { ResponsesBody } from '../../src/families/responses/caller-side'
import { sealReasoning } from '../../src/families/sealed-reasoning'
import { GatewayError } from '../../src/lib/errors'
import { createValidator } from '../../src/lib/validate'
import { checkFields } from '../../src/request/fields'
import { fixtures } from '../support/answers/fixtures'
import { branchesOf, withValue } from '../support/answers/json-paths'
import { bridgedModel, responsesRequest } from '../support/answers/response-bridges'
import { agents, aiSdk, codex, langchain, newestCodex } from '../support/answers/response-requests'
import {
  responsesOnChatSamples,
  responsesOnConverseSamples,
  responsesOnMessagesSamples,
} from '../support/answers/response-samples'
import { casesOf, createRandom, isWholeRun, type Random, seedOf } from '../support/random'
import type { Json } from '../support/scenario'

const ALL_ODD = [
  undefined,
  null,
  7,
  -1,
  '',
  'x',
  true,
  [],
  [null],
  {},
  { type: 'x' },
  [{ type: 'function', name: 'f' }],
]

const seed = seedOf('TRANSLATIONS_SEED')
/** One in four of the odd values, different ones in each run, or all of them. */
const ODD = isWholeRun ? ALL_ODD : ALL_ODD.filter((_, place) => place % 4 === seed % 4)

const signed = { kind: 'messages', blocks: [{ thinking: 'Hm.', signature: 's' }] } as const

const bridges = {
  'responses-on-chat': {
    upstreamModel: 'kimi-k2.6',
    reasoning: { kind: 'chat', text: 'Hm.' } as const,
    samples: responsesOnChatSamples,
    isRight: isChat,
  },
  'responses-on-messages': {
    upstreamModel: 'claude-sonnet-4-5',
    reasoning: signed,
    samples: responsesOnMessagesSamples,
    isRight: isMessages,
  },
  'responses-on-converse': {
    upstreamModel: 'us.amazon.nova-lite-v1:0',
    reasoning: signed,
    samples: responsesOnConverseSamples,
    isRight: isConverse,
  },
}

for (const [name, { upstreamModel, reasoning, samples, isRight }] of Object.entries(bridges)) {
  const family = families.get(name) as MadeFamily
  const model: Model = {
    ...bridgedModel(name === 'responses-on-chat' ? 'chat' : 'messages', upstreamModel),
    family,
  }
  const validate = createValidator(family.body)
  const sealed = sealReasoning(responsesRequest(), model, reasoning) as string
  const requests: Json[] = [
    codex(sealed),
    newestCodex(sealed),
    aiSdk(sealed),
    agents(),
    langchain(),
    ...fixtures.filter((record) => record.family === name).map(({ request }) => request),
    ...Object.values(samples).flatMap((sample) => (sample ? [{ input: 'Hi', ...sample }] : [])),
  ]

  /** The body sent to the vendor; undefined if the request is refused. */
  const sent = (body: Json): Json => {
    const parsed = responsesRequest(body)
    try {
      validate(parsed.body)
      checkFields(model, parsed)
      family.check?.(parsed.body as ResponsesBody, model)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      expect(error.param).toBeString()
      expect(error.status === 400 || error.code === 'item_not_found').toBe(true)
      return undefined
    }
    // A request that passed the check is quoted and sent without a further refusal.
    family.quote(parsed, model)
    // The hold for the caller's bytes covers the texts that the vendor counts.
    const byteLength = Buffer.byteLength(JSON.stringify(parsed.body))
    const texts = family.texts?.(parsed.body as ResponsesBody, model) ?? []
    const held = byteLength + addedBytes(parsed.body as ResponsesBody)
    expect(held).toBeGreaterThanOrEqual(Buffer.byteLength(texts.join('')))
    const [call] = [family.call(parsed, model)].flat()
    return call?.body && 'json' in call.body ? call.body.json : undefined
  }

  describe(name, () => {
    test('every recorded client request is translated to the correct form', () => {
      for (const request of [codex(sealed), newestCodex(sealed), aiSdk(sealed), agents(), langchain()]) {
        const body = sent(request)
        expect(body).toBeDefined()
        isRight(body)
      }
    })

    test(`with any value at any place, it is refused with a field or translated correctly (TRANSLATIONS_SEED=${seed})`, () => {
      let translated = 0
      let refused = 0
      for (const request of requests) {
        for (const path of branchesOf(request)) {
          for (const value of ODD) {
            const changed = withValue(request, path, value)
            try {
              const body = sent(changed)
              if (body) isRight(body)
              if (body) translated++
              else refused++
            } catch (error) {
              throw new Error(`${path} = ${JSON.stringify(value)}: ${error}`)
            }
          }
        }
      }
      expect(Math.min(translated, refused)).toBeGreaterThan(200)
    })

    test(`with items of several conversations in any order (TRANSLATIONS_SEED=${seed})`, () => {
      const items = requests.flatMap(({ input }) => (Array.isArray(input) ? input : []))
      for (let round = 0; round < casesOf(2_000); round++) {
        const random = createRandom(seed + round)
        const body = { input: mixed(items, random), tools: random.pick(requests).tools }
        try {
          const request = sent(body)
          if (request) isRight(request)
        } catch (error) {
          throw new Error(`TRANSLATIONS_SEED=${seed + round}: ${error}\n${JSON.stringify(body)}`)
        }
      }
    })
  })
}

/** Items of several conversations. About half of the calls are followed by their output. */
function mixed(items: readonly Json[], random: Random): Json[] {
  const chosen: Json[] = [{ role: 'user', content: 'Hi' }]
  const answers: Json[] = []
  for (let count = random.below(12); count > 0; count--) {
    const item = random.pick(items)
    if (/_output$/.test(item.type ?? '')) continue
    const id = `id_${chosen.length}`
    chosen.push(item.call_id ? { ...item, id, call_id: id } : { ...item, id: undefined })
    const output = items.find(({ type }) => type === `${item.type}_output`)
    if (item.call_id && output) answers.push({ ...output, id: undefined, call_id: id })
    while (answers.length > 0 && random.chance(0.4)) {
      chosen.push(answers.splice(random.below(answers.length), 1)[0])
    }
  }
  if (random.chance(0.9)) chosen.push(...answers)
  return chosen
}

/** A chat request: the messages directly after calls answer them, in order. */
function isChat({ messages, tools }: Json): void {
  const awaited: string[] = []
  const open: string[] = []
  for (const { role, content, tool_calls: calls, tool_call_id: id } of messages) {
    if (role === 'tool') {
      expect(open.shift()).toBe(id)
      expect(content).toBeString()
      continue
    }
    expect(open).toEqual([])
    if (role === 'assistant') {
      expect(content === null ? (calls?.length ?? 0) : content.length).toBeGreaterThan(0)
      for (const call of calls ?? []) {
        expect(awaited).not.toContain(call.id)
        awaited.push(call.id)
        open.push(call.id)
        expect(call.function.name).toMatch(/^[\w-]{1,64}$/)
        expect(call.function.arguments).toBeString()
      }
    } else expect(['system', 'user']).toContain(role)
    if (role === 'user') expect(content.length).toBeGreaterThan(0)
  }
  expect(open).toEqual([])
  expect(messages.filter(({ role }: Json) => role === 'system').length).toBeLessThanOrEqual(1)
  const names = (tools ?? []).map((tool: Json) => tool.function.name)
  expect(new Set(names).size).toBe(names.length)
  if (tools) expect(tools.length).toBeGreaterThan(0)
}

/** A messages request: roles alternate, and the turn after calls begins with the results of all of them. */
function isMessages({ messages, tools, max_tokens: limit, thinking }: Json): void {
  expect(messages.length).toBeGreaterThan(0)
  if (thinking?.type === 'enabled') expect(thinking.budget_tokens).toBeLessThan(limit)
  let open: string[] = []
  const ids = new Set<string>()
  for (const [index, { role, content }] of messages.entries()) {
    if (index > 0) expect(role).not.toBe(messages[index - 1].role)
    expect(content.length).toBeGreaterThan(0)
    const results = content.filter(({ type }: Json) => type === 'tool_result')
    expect(results.map((result: Json) => result.tool_use_id)).toEqual(open)
    expect(content.slice(0, results.length)).toEqual(results)
    const uses = content.filter(({ type }: Json) => type === 'tool_use')
    open = uses.map(({ id }: Json) => id)
    for (const { id, name, input } of uses) {
      expect(ids.has(id)).toBe(false)
      ids.add(id)
      expect(id).toMatch(/^[\w-]+$/)
      expect(name).toMatch(/^[\w-]{1,64}$/)
      expect(typeof input === 'object' && input !== null && !Array.isArray(input)).toBe(true)
    }
    for (const { type, text } of content) {
      expect(type).not.toBe('sealed')
      if (type === 'text') expect(text.length).toBeGreaterThan(0)
    }
  }
  expect(open).toEqual([])
  const names = (tools ?? []).map(({ name }: Json) => name)
  expect(new Set(names).size).toBe(names.length)
}

/** A Converse request: roles alternate, calls have results and tools, and blocks have one member. */
function isConverse({ messages, toolConfig }: Json): void {
  expect(messages.length).toBeGreaterThan(0)
  let open: string[] = []
  for (const [index, { role, content }] of messages.entries()) {
    if (index > 0) expect(role).not.toBe(messages[index - 1].role)
    for (const block of content) expect(Object.keys(block)).toHaveLength(1)
    const results = content.flatMap(({ toolResult }: Json) => toolResult?.toolUseId ?? [])
    expect(results).toEqual(open)
    open = content.flatMap(({ toolUse }: Json) => toolUse?.toolUseId ?? [])
    for (const id of open) expect(id).toMatch(/^[\w-]{1,64}$/)
    if (open.length > 0) expect(toolConfig).toBeDefined()
    for (const { text } of content) if (text !== undefined) expect(text.trim()).not.toBe('')
  }
  expect(open).toEqual([])
  if (toolConfig) expect(toolConfig.tools.length).toBeGreaterThan(0)
}

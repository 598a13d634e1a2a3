// The upper bound of the output in unparsed events: never below their content, and exact for the kinds of events that
// it has learnt, so that few events must be parsed.

import { describe, expect, test } from 'bun:test'
import { OutputBound } from '../../src/request/stream/output-bound'

const head = {
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'some-model',
}
const event = (delta: object) =>
  `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: null }], usage: null })}\n\n`
const content = (text: string) => event({ content: text })
const most = (bound: OutputBound, events: string) => bound.of(Buffer.from(events)).tokens

/** A bound that has learnt an event with this text. */
function learnt(event: string, text: string): OutputBound {
  const bound = new OutputBound()
  bound.of(Buffer.from(event))
  bound.learn(event, text)
  return bound
}

describe('the bound of unparsed output', () => {
  test('counts a whole event as long as it knows no kind', () => {
    const text = content(' word')
    expect(most(new OutputBound(), text)).toBe(text.length)
  })

  test('is the length of the text in events of a known kind, one by one or several at once', () => {
    const bound = learnt(content('Hello'), 'Hello')
    for (const word of [' word', '', '\n\n', 'a "quoted" one', '"', 'C:\\', '\\"', '世界', '🎉']) {
      const written = Buffer.byteLength(JSON.stringify(word)) - 2
      expect(most(bound, content(word))).toBe(written)
      expect(most(bound, content(word).repeat(5))).toBe(5 * written)
    }
  })

  test('counts a whole event of another kind, and then knows both kinds', () => {
    const bound = learnt(event({ reasoning_content: 'Hm' }), 'Hm')
    const said = content('Yes')
    expect(most(bound, said)).toBe(said.length)
    bound.learn(said, 'Yes')
    expect(most(bound, said + event({ reasoning_content: 'More' }))).toBe(3 + 4)
  })

  test('finds a text only where it is a value, not where the same characters are inside another', () => {
    for (const text of [':', ',', '}', '{']) {
      const bound = learnt(content(text), text)
      expect(most(bound, content('much longer than before'))).toBe('much longer than before'.length)
    }
  })

  test('learns nothing from an event with a repeated text, which may be the text of another member', () => {
    const twice = event({ role: 'assistant', content: 'assistant' })
    expect(most(learnt(twice, 'assistant'), twice)).toBe(twice.length)
    const spaced = twice.replace('"role":', '"role": ')
    expect(most(learnt(spaced, 'assistant'), spaced)).toBe(spaced.length)
  })

  test('learns nothing from an event with several texts', () => {
    const several = event({ content: 'no', tool_calls: [{ function: { arguments: 'ata: ' } }] })
    expect(most(learnt(several, 'noata: '), several)).toBe(several.length)
  })

  test('learns nothing if a vendor escapes texts in another way', () => {
    const escaped = content('x').replace('"x"', '"\\u4e16"')
    const bound = learnt(escaped, '世')
    expect(most(bound, escaped)).toBe(escaped.length)
  })

  test('calls events plain if their kind has nothing to report, and no text can change that', () => {
    const plainLength = (bound: OutputBound, events: string) => bound.of(Buffer.from(events)).plainLength
    const isPlain = (bound: OutputBound, events: string) => plainLength(bound, events) === events.length
    const bound = learnt(content('Hello'), 'Hello')
    for (const word of [' word', '", "error": "', '"error"', 'failed'])
      expect({ word, isPlain: isPlain(bound, content(word).repeat(3)) }).toEqual({ word, isPlain: true })
    const said = content(' word')
    const usage = said.replace('"usage":null', '"usage":{"prompt_tokens":1}')
    for (const other of [
      usage,
      said.replace(' word', '","error":{},"x":"'),
      said.replace(' word', '\\\\","error":"'),
      'data: [DONE]\n\n',
    ])
      for (const events of [other, said + other, other + said])
        expect({ events, isPlain: isPlain(bound, events) }).toEqual({ events, isPlain: false })
    expect(plainLength(bound, said + said + usage + said)).toBe(2 * said.length)
    expect(plainLength(bound, usage + said)).toBe(0)
    expect(isPlain(learnt(usage, ' word'), usage)).toBe(false)
    const ofAccount = said.replace('"id"', '"project_id":"p","id"')
    expect(isPlain(learnt(ofAccount, ' word'), ofAccount)).toBe(false)
  })
})

// The model's name in streams: every occurrence is replaced, however many events arrive together, and no other byte
// changes.

import { expect, test } from 'bun:test'
import { createRename } from '../../src/request/model-name'

const eventOf = (model: string, text: string) =>
  `data: {"model":"${model}","text":${JSON.stringify(text)}}\n\n`

for (const count of [1, 2, 5, 50, 500]) {
  test(`replaces the name in ${count} events that arrive together`, () => {
    const rename = createRename('the-house-model')
    const texts = Array.from({ length: count }, (_none, index) => `${index} "model":"vendor-1" é 😀 \u0000`)
    const given = Buffer.from(texts.map((text) => eventOf('vendor-1', text)).join(''))
    const wanted = texts.map((text) => eventOf('the-house-model', text)).join('')
    expect(rename(given, Buffer.allocUnsafe).toString()).toBe(wanted)
  })
}

test('bytes that are not UTF-8 pass unchanged', () => {
  const rename = createRename('m')
  const bytes = Buffer.from(Array.from({ length: 4096 }, (_none, index) => index % 256))
  const name = Buffer.from('"model":"vendor-1"')
  const renamed = rename(Buffer.concat([name, bytes, name]), Buffer.allocUnsafe)
  const wanted = Buffer.from('"model":"m"')
  expect(renamed).toEqual(Buffer.concat([wanted, bytes, wanted]))
})

test('events without the name are returned as the same object', () => {
  const rename = createRename('m')
  rename(Buffer.from(eventOf('vendor-1', '')), Buffer.allocUnsafe)
  const large = Buffer.alloc(10_000, 'x')
  expect(rename(large, Buffer.allocUnsafe)).toBe(large)
})

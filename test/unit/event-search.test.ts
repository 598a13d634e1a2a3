// The search of a stream's bytes for events that must be parsed, compared with the families that parse them: a family
// must get every event that it would recognize as an error, in any form.

import { describe, expect, test } from 'bun:test'
import { streamOf } from '../../src/contract/family'
import { hasFailed, type Reading } from '../../src/contract/reading'
import { families } from '../../src/families'
import { mayReport, startOfReport } from '../../src/request/stream/event-search'
import { chunk } from '../support/vendors/vendor'

const forms: Record<string, object> = {
  'an object': { error: { message: 'It broke.', code: 'x' } },
  'a text': { error: 'It broke.' },
  'an object without a message': { error: {} },
  detail: { detail: 'It broke.' },
  'a list of details': { detail: [{ loc: ['body', 'seed'], msg: 'is not a number' }] },
  'an object of details': { detail: { status: 'busy', message: 'It broke.' } },
  'a message': { message: 'It broke.' },
  'a code': { code: 'Busy' },
  'a code and a message': { code: 'Busy', message: 'It broke.' },
  'a status and a message': { status: 503, message: 'It broke.' },
  'a list of errors': [{ code: 'Busy', message: 'It broke.' }],
  'an object with the type error': { object: 'error', message: 'It broke.' },
  'a finish reason': { choices: [{ index: 0, delta: {}, finish_reason: 'error' }] },
  'an error event': { type: 'error' },
  'an error event with a code': { type: 'error', code: 'x', message: 'It broke.' },
  'a failed interaction': { event_type: 'interaction.update', status: 'failed' },
  'a canceled interaction': { event_type: 'interaction.update', interaction: { status: 'cancelled' } },
  'a failed response': { type: 'response.failed', response: { status: 'failed' } },
  'a failed response with its error': {
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'server_error', message: 'It broke.' } },
  },
}
const streaming = [...families.values()].flatMap((family) => {
  const read = streamOf(family)?.read
  return read ? [{ name: family.name, read }] : []
})
const before = chunk('"message" and "detail" are words of a "code".')

/** The forms of errors that a family recognizes. */
const errorsOf = (read: (event: unknown) => Reading) =>
  Object.entries(forms).filter(([, form]) => hasFailed(read(form)))

describe.each(streaming)('$name', ({ read }) => {
  test('recognizes at least one form of error', () => {
    expect(errorsOf(read).length).toBeGreaterThan(2)
  })

  test.each([0, 2])('gets each error that it recognizes (JSON with indent %i)', (indent) => {
    for (const [name, form] of errorsOf(read)) {
      const lines = JSON.stringify(form, null, indent).split('\n')
      const event = `${lines.map((line) => `data: ${line}`).join('\n')}\n\n`
      const start = startOfReport(Buffer.from(before + event), 0)
      expect({ name, is: mayReport(event), start }).toEqual({
        name,
        is: true,
        start: Buffer.byteLength(before),
      })
    }
  })
})

test('error words in a model’s text are ignored', () => {
  expect(mayReport(before)).toBe(false)
  expect(startOfReport(Buffer.from(before), 0)).toBe(-1)
})

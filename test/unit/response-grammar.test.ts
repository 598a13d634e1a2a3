// The response parser compared with llhttp in strict mode, on faulty responses: what llhttp refuses is refused, and
// what both accept is framed alike, because a response that two parsers frame differently could give one caller
// another's answer. A usual run has 20,000 faulty responses; RESPONSE_MUTATIONS sets another number, and RESPONSE_SEED
// repeats a run: RESPONSE_MUTATIONS=1000000 bun test --timeout 600000 test/unit/response-grammar.test.ts

import { describe, expect, test } from 'bun:test'
import { MalformedResponse, ResponseParser } from '../../src/http-client/response-parser'
import { mutatedResponse } from '../support/answers/mutated-responses'
import { createRandom, type Random, seedOf } from '../support/random'
import { readByLlhttp } from '../support/servers/llhttp'

const MUTATIONS = Number(process.env.RESPONSE_MUTATIONS ?? 20_000)

interface Reading {
  status: number
  body: string
  /** Ended by its own framing, or by closing the connection. */
  isWhole: boolean
  endsByClose: boolean
  reusable: boolean
  fault: string | undefined
}

/** The parser's result for pieces from a connection that is closed after them. */
function read(pieces: readonly Buffer[]): Reading {
  const reading: Reading = {
    status: 0,
    body: '',
    isWhole: false,
    endsByClose: false,
    reusable: false,
    fault: undefined,
  }
  const parser = new ResponseParser({
    head({ status }) {
      reading.status = status
    },
    data(bytes) {
      reading.body += bytes.toString('latin1')
    },
    end(reusable) {
      reading.isWhole = true
      reading.reusable = reusable
    },
  })
  try {
    for (const piece of pieces) {
      // Bytes after the end arrive on an idle connection, which closes it.
      if (reading.isWhole) reading.reusable = false
      else parser.push(Buffer.from(piece))
    }
    if (!reading.isWhole) reading.endsByClose = parser.close()
  } catch (error) {
    if (!(error instanceof MalformedResponse)) throw error
    reading.fault = error.message
    reading.isWhole = false
  }
  return reading
}

function cutAtRandom(bytes: Buffer, random: Random): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + random.below(random.chance(0.5) ? 3 : 100)
    pieces.push(bytes.subarray(at, end))
    at = end
  }
  return pieces
}

/** The part of the result that does not depend on the pieces: for a refused response, only that it was refused. */
function outcomeOf({ fault, isWhole, ...reading }: Reading): string {
  return JSON.stringify(isWhole ? reading : { refused: fault !== undefined })
}

/** Returns the dangerous difference between the two parsers' results for these bytes, if there is one. */
function differenceIn(bytes: Buffer, cut: readonly Buffer[]): string | undefined {
  const reference = readByLlhttp(bytes)
  const reading = read([bytes])
  if (outcomeOf(reading) !== outcomeOf(read(cut))) {
    return `it depends on how the bytes are cut: ${outcomeOf(reading)} ${outcomeOf(read(cut))}`
  }
  if (!reading.isWhole) {
    const isWaiting = reading.fault === undefined && reading.status !== 0
    return isWaiting && reference.end !== undefined ? 'a whole one is waited for' : undefined
  }
  if (reference.fault !== undefined) return `accepted, refused by llhttp: ${reference.fault}`
  if (reference.end === undefined && !reference.endsByClose) return 'accepted, not whole for llhttp'
  if (reading.endsByClose !== reference.endsByClose) return 'another kind of end'
  if (reading.status !== reference.status) return 'another response'
  if (reading.body !== reference.body) return 'another body'
  if (reading.reusable && !reference.keepsAlive) return 'kept, closed by llhttp'
  if (reference.end === undefined) return undefined
  if (reading.reusable && reference.end !== bytes.length) return 'kept with unread bytes'
  // The response ends with this byte, not before.
  if (!read([bytes.subarray(0, reference.end)]).isWhole) return 'another end'
  if (read([bytes.subarray(0, reference.end - 1)]).isWhole) return 'an earlier end'
  return undefined
}

describe('responses with faults', () => {
  test(`are refused or framed as by llhttp: ${MUTATIONS} of them`, () => {
    const seed = seedOf('RESPONSE_SEED')
    const random = createRandom(seed)
    const differences: { difference: string; response: string }[] = []
    let accepted = 0
    for (let count = 0; count < MUTATIONS; count++) {
      const bytes = mutatedResponse(random)
      const cut = cutAtRandom(bytes, random)
      const difference = differenceIn(bytes, cut)
      if (difference !== undefined) differences.push({ difference, response: bytes.toString('latin1') })
      if (read([bytes]).isWhole) accepted++
    }
    expect({ seed, count: differences.length, first: differences.slice(0, 5) }).toEqual({
      seed,
      count: 0,
      first: [],
    })
    // Otherwise, nothing would have been compared.
    expect(accepted).toBeGreaterThan(MUTATIONS / 20)
    expect(accepted).toBeLessThan(MUTATIONS / 2)
  }, 600_000)
})

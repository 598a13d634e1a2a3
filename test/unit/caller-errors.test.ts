// How callers see an upstream's errors, as a table: status, code and message for each refusal.

import { describe, expect, test } from 'bun:test'
import type { UpstreamError } from '../../src/contract/upstream'
import {
  circuitOpen,
  emptyAnswer,
  isNotTaken,
  notHttp,
  overConcurrency,
  refusedByUpstream,
  unreachable,
} from '../../src/upstreams/caller-errors'

const said: UpstreamError = {
  message: 'No stripes.',
  code: 'stripes',
  type: 'zebra_error',
  param: 'coat',
  whose: 'caller',
}
const silent: UpstreamError = { ...said, code: null, type: null, param: null }
const operator: UpstreamError = { ...said, whose: 'operator' }
const verbatim: UpstreamError = { ...said, verbatim: true }

interface Row {
  status: number
  vendor: UpstreamError
  retryAfterMs?: number
  shown: { status: number; code: string; type?: string; param?: string | null; message?: string }
  headers: Record<string, string>
}

const NEVER = { 'x-should-retry': 'false' }
const SOON = { 'x-should-retry': 'true' }
const FAILED = 'The upstream zoo failed (HTTP'

const rows: readonly Row[] = [
  // The caller's own mistakes, in the vendor's words.
  {
    status: 400,
    vendor: said,
    shown: { status: 400, code: 'stripes', type: 'zebra_error', param: 'coat', message: 'No stripes.' },
    headers: NEVER,
  },
  {
    status: 400,
    vendor: silent,
    shown: { status: 400, code: 'upstream_refused', type: 'invalid_request_error', param: null },
    headers: NEVER,
  },
  { status: 422, vendor: said, shown: { status: 400, code: 'stripes' }, headers: NEVER },
  { status: 404, vendor: said, shown: { status: 404, code: 'stripes' }, headers: NEVER },
  { status: 413, vendor: said, shown: { status: 413, code: 'stripes' }, headers: NEVER },
  { status: 409, vendor: said, shown: { status: 409, code: 'stripes' }, headers: SOON },
  // The operator's problems, reported as the gateway's.
  ...[400, 401, 402, 403, 429, 500].map((status) => ({
    status,
    vendor: operator,
    shown: {
      status: 503,
      code: 'upstream_unavailable',
      type: 'server_error',
      message: 'The upstream zoo does not serve this gateway now. Its operator can see why in the log.',
    },
    headers: { 'retry-after': '30', ...NEVER },
  })),
  {
    status: 404,
    vendor: operator,
    shown: { status: 502, code: 'upstream_model_missing', type: 'server_error' },
    headers: NEVER,
  },
  // Redirects are not followed.
  ...[300, 301, 307, 399].map((status) => ({
    status,
    vendor: said,
    shown: { status: 502, code: 'upstream_redirect' },
    headers: SOON,
  })),
  // Too many requests.
  {
    status: 429,
    vendor: said,
    shown: { status: 429, code: 'stripes', type: 'rate_limit_error', message: 'No stripes.' },
    headers: { 'retry-after': '1', ...SOON },
  },
  {
    status: 429,
    vendor: silent,
    retryAfterMs: 6_001,
    shown: { status: 429, code: 'Throttling.RateQuota' },
    headers: { 'retry-after': '7', ...SOON },
  },
  {
    status: 429,
    vendor: said,
    retryAfterMs: 61_000,
    shown: { status: 429, code: 'stripes' },
    headers: { 'retry-after': '61', ...NEVER },
  },
  // The vendor's failures.
  {
    status: 500,
    vendor: said,
    shown: {
      status: 502,
      code: 'upstream_error',
      type: 'server_error',
      message: `${FAILED} 500): No stripes.`,
    },
    headers: SOON,
  },
  {
    status: 502,
    vendor: said,
    retryAfterMs: 2_000,
    shown: { status: 502, code: 'upstream_error' },
    headers: { 'retry-after': '2', ...SOON },
  },
  {
    status: 503,
    vendor: said,
    shown: { status: 503, code: 'upstream_error', message: `${FAILED} 503): No stripes.` },
    headers: { 'retry-after': '1', ...SOON },
  },
  { status: 504, vendor: said, shown: { status: 504, code: 'upstream_error' }, headers: SOON },
  {
    status: 529,
    vendor: said,
    shown: { status: 503, code: 'upstream_error', message: `${FAILED} 529): No stripes.` },
    headers: { 'retry-after': '1', ...SOON },
  },
  {
    status: 529,
    vendor: verbatim,
    shown: { status: 529, code: 'upstream_error', type: 'zebra_error', message: 'No stripes.' },
    headers: { 'retry-after': '1', ...SOON },
  },
  {
    status: 500,
    vendor: { ...verbatim, type: null },
    shown: { status: 502, code: 'upstream_error', message: `${FAILED} 500): No stripes.` },
    headers: SOON,
  },
]

describe('the error that callers get for a refusal', () => {
  for (const { status, vendor, retryAfterMs, shown, headers } of rows) {
    const wait = retryAfterMs === undefined ? '' : `, to come back in ${retryAfterMs} ms`
    const about = `${vendor.whose}${vendor.verbatim ? ', verbatim' : ''}${vendor.code ? '' : ', without a code'}`
    test(`${status} (${about}${wait}) is ${shown.status} ${shown.code}`, () => {
      const error = refusedByUpstream('zoo', status, vendor, retryAfterMs)
      expect(error).toMatchObject(shown)
      expect(error.headers).toEqual(headers)
    })
  }

  test('does not reveal the operator’s account, and includes the vendor’s body without it too', () => {
    const message = 'No stripes for organization org-1234567890abcdef.'
    const error = refusedByUpstream('zoo', 400, { ...said, message, relayed: { code: 'stripes', message } })
    expect(error.message).not.toContain('1234567890')
    expect(error.relayed).toEqual({ code: 'stripes', message: error.message })
  })

  test('says whether the vendor may have started work', () => {
    const begun = [400, 401, 429, 499, 500, 502, 503, 504, 529].filter((status) => !isNotTaken(status))
    expect(begun).toEqual([500, 502, 504])
  })
})

test('errors without an answer say whether another vendor may be tried', () => {
  const cause = new Error('reset')
  const errors = [
    unreachable('zoo', cause, true),
    unreachable('zoo', cause, false),
    notHttp('zoo', cause),
    emptyAnswer('zoo'),
    overConcurrency('zoo', 2),
    circuitOpen('zoo'),
  ]
  expect(errors.map(({ status, code, notTaken }) => [status, code, notTaken])).toEqual([
    [502, 'upstream_unreachable', true],
    [502, 'upstream_unreachable', false],
    [502, 'upstream_garbage', false],
    [502, 'upstream_empty', false],
    [429, 'Throttling.ConcurrencyQuota', true],
    [503, 'upstream_unavailable', true],
  ])
  expect(errors.map(({ headers }) => headers['retry-after'])).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    '1',
    '5',
  ])
})

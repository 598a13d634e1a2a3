// How callers request to wait or to get a deferred answer: in the URL and in the `Prefer` header.

import { expect, test } from 'bun:test'
import { prefersLater, waitOfRequest } from '../../src/lib/waiting'

test.each([
  ['respond-async', true],
  ['Respond-Async', true],
  ['wait=10, respond-async', true],
  ['respond-async, wait=10', true],
  ['respond-async; foo="bar"', true],
  ['return=minimal', false],
  ['no-respond-async', false],
  ['foo="respond-async"', false],
  ['respond-asynchronously', false],
  ['', false],
])('%p requests a deferred answer: %p', (prefer, isLater) => {
  expect(prefersLater(prefer)).toBe(isLater)
})

test.each([
  ['http://a/?wait=true', null, 300_000],
  ['http://a/?wait=5', 'respond-async, wait=10', 10_000],
  ['http://a/', 'respond-async,wait=900', 300_000],
  ['http://a/?wait=-1', 'wait=soon', 0],
])('%p with %p waits %p ms', (url, prefer, waitMs) => {
  expect(waitOfRequest(url, prefer)).toBe(waitMs)
})

// Callers' mistakes, one per row: each is answered with what to change. None may reach a vendor, hold money, or be
// missing in the request log.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { makeSecret, revokeKey, rollKey } from '../../src/accounts/keys'
import { createApp } from '../../src/app/routes'
import { createGateway } from '../../src/request/line'
import { databaseKinds } from '../support/databases/databases'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { type Json, play, type Scenario } from '../support/scenario'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway({ config: { server: { trustedProxies: ['127.0.0.0/8'] } } })
})
afterAll(() => gateway.close())

function newSecret(): string {
  return makeSecret((count) => crypto.getRandomValues(new Uint8Array(count)))
}

function playAll(scenarios: Scenario[]): void {
  for (const scenario of scenarios) test(scenario.name, () => play(gateway, scenario).then(() => {}))
}

const unauthorized = {
  status: 401,
  body: { model: 'test-chat', messages: say('Hello!') },
  error: { code: 'invalid_api_key', type: 'invalid_request_error', param: null },
  answers: { 'www-authenticate': 'Bearer', 'content-type': 'application/json' },
}

describe('keys', () => {
  const header = (name: string, authorization: string, word: string): Scenario => ({
    ...unauthorized,
    name,
    key: null,
    headers: { authorization },
    words: [word],
  })
  playAll([
    { ...unauthorized, name: 'no header', key: null, words: ['Authorization: Bearer <API_KEY>'] },
    {
      ...unauthorized,
      name: 'the key in x-api-key, which this gateway does not read',
      key: null,
      headers: { 'x-api-key': newSecret() },
      words: ['Authorization: Bearer <API_KEY>'],
    },
    header('an empty token', 'Bearer ', 'must read `Bearer <API_KEY>`'),
    header('no scheme', newSecret(), 'must read `Bearer <API_KEY>`'),
    header('another scheme', `Basic ${btoa('user:password')}`, 'must read `Bearer <API_KEY>`'),
    header('two tokens', `Bearer ${newSecret()} ${newSecret()}`, 'must read `Bearer <API_KEY>`'),
    header('a key of another service', 'Bearer sk-proj-abcdefgh', 'not a key of this gateway'),
    header('a typing error', `Bearer ${newSecret().slice(0, -1)}!`, 'or it was mistyped'),
    header('a key that nobody has', `Bearer ${newSecret()}`, 'Incorrect API key.'),
  ])

  test('one wrong character', async () => {
    const { secret } = gateway
    const changed = `${secret.slice(0, 10)}${secret[10] === 'a' ? 'b' : 'a'}${secret.slice(11)}`
    await play(gateway, { ...unauthorized, name: 'changed', key: changed, words: ['mistyped'] })
  })

  test('the scheme may be written in any case', async () => {
    await play(gateway, {
      name: 'lower case',
      key: null,
      headers: { authorization: `bearer ${gateway.secret}` },
      body: unauthorized.body,
      status: 200,
      vendorCalls: 1,
      charges: 1,
    })
  })

  test('an invalid key is rejected before the body is read', async () => {
    // Another caller, because the request log keeps only a few rows per caller without a known key.
    const headers = { 'x-forwarded-for': '192.0.2.1' }
    await play(gateway, { ...unauthorized, name: 'not JSON', key: newSecret(), headers, body: '{' })
  })
})

for (const database of databaseKinds) {
  test(`expired, revoked and replaced keys are rejected within a second by every node (${database})`, async () => {
    let passedMs = 0
    const now = () => Date.now() + passedMs
    const first = await startTestGateway({ database, outside: { now } })
    const nodes = [first]
    if (first.databaseUrl) {
      const { databaseUrl, sandbox } = first
      nodes.unshift(await startTestGateway({ databaseUrl, sandbox, outside: { now } }))
    }
    const keys = {
      expired: await first.makeKey('alice', '0', { expiresAt: now() + 3_600_000 }),
      revoked: await first.makeKey('alice', '0'),
      replaced: await first.makeKey('alice', '0'),
    }
    const served = { name: 'served', body: unauthorized.body, status: 200, vendorCalls: 1, charges: 1 }
    for (const node of nodes) {
      for (const { secret: key } of Object.values(keys)) await play(node, { ...served, key })
    }

    const newOne = newSecret()
    await revokeKey(first.server.world.db, keys.revoked.id, now())
    await rollKey(first.server.world.db, keys.replaced.id, newOne, now())
    passedMs = 1_000
    for (const node of nodes) {
      await play(node, { ...unauthorized, name: 'revoked', key: keys.revoked.secret, words: ['revoked'] })
      await play(node, { ...unauthorized, name: 'replaced', key: keys.replaced.secret })
      await play(node, { ...served, key: newOne })
      await play(node, { ...served, key: keys.expired.secret })
    }
    passedMs = 3_600_000
    for (const node of nodes) {
      await play(node, { ...unauthorized, name: 'expired', key: keys.expired.secret, words: ['expired'] })
    }
    for (const node of nodes) await node.close()
  })
}

test('a stream that began before its key was revoked may finish', async () => {
  const { secret, id } = await gateway.makeKey('alice', '0')
  const response = await gateway.chat(
    { messages: say('[sandbox tokens=8 token_delay_ms=20] Hello!'), stream: true },
    { authorization: `Bearer ${secret}` },
  )
  await revokeKey(gateway.server.world.db, id, Date.now())
  await waitFor(async () => (await gateway.chat({}, { authorization: `Bearer ${secret}` })).status === 401)
  expect(await response.text()).toEndWith('data: [DONE]\n\n')
})

describe('bodies that are not a JSON object', () => {
  const row = (name: string, body: unknown, word: string): Scenario => ({
    name,
    body,
    status: 400,
    error: { code: 'invalid_json', type: 'invalid_request_error', param: null },
    words: [word],
  })
  const text = JSON.stringify({ model: 'test-chat', messages: say('Grüße') })
  const bytes = new TextEncoder().encode(text)
  playAll([
    row('empty', '', 'The body is empty: send a JSON object.'),
    row('none at all', undefined, 'The body is empty'),
    row('white space', ' \n ', 'not a JSON object'),
    row('text', 'hello', 'not a JSON object'),
    row('an array', '[{}]', 'not a JSON object'),
    row('a string', '"text"', 'not a JSON object'),
    row('null', 'null', 'not a JSON object'),
    row('a form', 'model=test-chat&messages=hi', 'not a JSON object'),
    row('an open brace', '{', 'not a JSON object'),
    row('cut off', text.slice(0, -10), 'not a JSON object'),
    row('a comma too many', '{"model":"test-chat",}', 'not a JSON object'),
    row('single quotes', "{'model':'test-chat'}", 'not a JSON object'),
    row('a comment', '{/* hi */"model":"test-chat"}', 'not a JSON object'),
    row('NaN', '{"model":"test-chat","temperature":NaN}', 'not valid JSON'),
    row('Infinity', '{"model":"test-chat","temperature":-Infinity}', 'not valid JSON'),
    row('a leading zero', '{"model":"test-chat","n":01}', 'not valid JSON'),
    row('a line break in a string', '{"model":"test\nchat"}', 'not valid JSON'),
    row('a bad escape', '{"model":"\\x41"}', 'not valid JSON'),
    row('two objects', '{"model":"test-chat"}{"model":"b"}', 'not valid JSON'),
    row('something behind the object', `${text} x`, 'not valid JSON'),
    row('brackets that do not match', '{"model":"test-chat","messages":[{]}}', 'not valid JSON'),
    row(
      'a byte that is not UTF-8',
      bytes.map((byte) => (byte === 0xc3 ? 0xff : byte)),
      'not valid UTF-8',
    ),
    row(
      'a cut letter',
      bytes.filter((byte) => byte !== 0xbc),
      'not valid UTF-8',
    ),
    row('Latin-1', Buffer.from(text, 'latin1'), 'not valid UTF-8'),
    row('an encoded surrogate', Buffer.from('{"model":"\xed\xa0\x80"}', 'latin1'), 'not valid UTF-8'),
    row('an overlong slash', Buffer.from('{"model":"\xc0\xaf"}', 'latin1'), 'not valid UTF-8'),
    row('UTF-16', Buffer.from(text, 'utf16le'), 'not'),
  ])

  test('a byte order mark is tolerated: some editors and shells add one', async () => {
    const { calls } = await play(gateway, {
      name: 'BOM',
      body: `\ufeff${text}`,
      status: 200,
      vendorCalls: 1,
      charges: 1,
    })
    expect(calls[0]?.body).toBe(text.replace('test-chat', 'gpt-4.1-mini'))
  })
})

describe('models', () => {
  const row = (name: string, model: unknown, code: string, word: string, path?: string): Scenario => ({
    name,
    body: { model, messages: say('Hello!'), input: 'Hello!' },
    ...(path ? { path } : {}),
    status: 400,
    error: { code, type: 'invalid_request_error', param: 'model' },
    words: [word],
  })
  playAll([
    row('missing', undefined, 'missing_required_parameter', 'GET /v1/models'),
    row('null', null, 'missing_required_parameter', 'GET /v1/models'),
    row('empty', '', 'missing_required_parameter', 'GET /v1/models'),
    row('a number', 5, 'invalid_type', "Invalid type for 'model': expected a string."),
    row('an object', { id: 'test-chat' }, 'invalid_type', 'expected a string'),
    row(
      'unknown',
      'gpt-99',
      'model_not_found',
      'The model `gpt-99` does not exist or this key may not use it.',
    ),
    row('upper case', 'Test-Chat', 'model_not_found', '`Test-Chat` does not exist'),
    row('a name of JavaScript', '__proto__', 'model_not_found', '`__proto__` does not exist'),
    row('another name of JavaScript', 'constructor', 'model_not_found', '`constructor` does not exist'),
    row(
      'an embedding model for a chat',
      'vgx-4',
      'endpoint_model_mismatch',
      'The model `vgx-4` does not serve /v1/chat/completions: it is a model for embeddings.',
    ),
    row(
      'a chat model for embeddings',
      'test-chat',
      'endpoint_model_mismatch',
      'The model `test-chat` does not serve /v1/embeddings: it is a model for chat, messages, responses and contents.',
      '/v1/embeddings',
    ),
  ])

  test('a very long name is not repeated in full', async () => {
    const { text } = await play(gateway, {
      ...row('long', 'm'.repeat(100_000), 'model_not_found', `${'m'.repeat(128)}…`),
    })
    expect(text.length).toBeLessThan(1_000)
  })

  test('a model that the key may not use is answered like one that does not exist', async () => {
    const { secret: key } = await gateway.makeKey('alice', '0', { models: ['test-xai'] })
    const answers = await Promise.all(
      ['test-chat', 'not-there'].map(async (model) => {
        const response = await gateway.chat({ model }, { authorization: `Bearer ${key}` })
        const { error } = (await response.json()) as Json
        const { request_id, message, ...rest } = error
        return { status: response.status, message: message.replaceAll(model, 'X'), ...rest }
      }),
    )
    expect(answers[0]).toEqual(answers[1])
    expect(answers[0]).toMatchObject({ status: 400, code: 'model_not_found', param: 'model' })
    expect(gateway.sandbox.calls.some(({ body }) => body.includes('not-there'))).toBe(false)
  })
})

describe('fields of a chat', () => {
  /** The wrong value, the field named in the answer, its code, and words of its message. */
  const rows: [wrong: Record<string, unknown>, param: string, code: string, word: string][] = [
    [
      { messages: undefined },
      'messages',
      'missing_required_parameter',
      "Missing required parameter: 'messages'.",
    ],
    [{ messages: null }, 'messages', 'invalid_type', 'expected an array, but got null'],
    [{ messages: 'Hello!' }, 'messages', 'invalid_type', 'expected an array, but got a string'],
    [{ messages: [] }, 'messages', 'empty_array', 'empty array. Expected an array with at least one item.'],
    [{ messages: ['Hello!'] }, 'messages[0]', 'invalid_type', 'expected an object, but got a string'],
    [
      { messages: [{ content: 'x' }] },
      'messages[0].role',
      'missing_required_parameter',
      "'messages[0].role'",
    ],
    [
      { messages: [...say('a'), { role: 'wizard', content: 'x' }] },
      'messages[1].role',
      'invalid_value',
      "'assistant', 'tool'",
    ],
    [{ messages: [{ role: 5, content: 'x' }] }, 'messages[0].role', 'invalid_value', 'Supported values are'],
    [
      { messages: [{ role: 'user' }] },
      'messages[0].content',
      'invalid_value',
      'expected a string or an array of parts',
    ],
    [
      { messages: [{ role: 'user', content: null }] },
      'messages[0].content',
      'invalid_value',
      'expected a string',
    ],
    [
      { messages: [{ role: 'user', content: 5 }] },
      'messages[0].content',
      'invalid_type',
      'expected a string or an array, but got a number',
    ],
    [
      { messages: [{ role: 'user', content: ['x'] }] },
      'messages[0].content[0]',
      'invalid_type',
      'expected an object, but got a string',
    ],
    [
      { messages: [{ role: 'user', content: [{ text: 'x' }] }] },
      'messages[0].content[0].type',
      'missing_required_parameter',
      'content[0].type',
    ],
    [
      { messages: [{ role: 'user', content: 'x', name: 5 }] },
      'messages[0].name',
      'invalid_type',
      'expected a string',
    ],
    [
      { messages: [{ role: 'tool', content: 'x' }] },
      'messages[0].tool_call_id',
      'invalid_value',
      'names the call that it answers',
    ],
    [{ stream: 'yes' }, 'stream', 'invalid_type', 'expected a boolean, but got a string'],
    [
      { temperature: 3 },
      'temperature',
      'decimal_above_max_value',
      'Expected a value <= 2, but got 3 instead.',
    ],
    [{ temperature: -0.1 }, 'temperature', 'decimal_below_min_value', 'Expected a value >= 0, but got -0.1'],
    [{ temperature: '1' }, 'temperature', 'invalid_type', 'expected a number, but got a string'],
    [{ top_p: 1.01 }, 'top_p', 'decimal_above_max_value', 'Expected a value <= 1'],
    [{ frequency_penalty: -2.5 }, 'frequency_penalty', 'decimal_below_min_value', 'Expected a value >= -2'],
    [{ presence_penalty: 2.5 }, 'presence_penalty', 'decimal_above_max_value', 'Expected a value <= 2'],
    [{ n: 0 }, 'n', 'integer_below_min_value', 'Expected a value >= 1, but got 0'],
    [{ n: 129 }, 'n', 'integer_above_max_value', 'Expected a value <= 128'],
    [{ n: 1.5 }, 'n', 'invalid_type', 'expected an integer'],
    [{ max_tokens: 0 }, 'max_tokens', 'integer_below_min_value', 'Expected a value >= 1'],
    [{ max_tokens: -5 }, 'max_tokens', 'integer_below_min_value', 'Expected a value >= 1'],
    [{ max_tokens: 1e308 }, 'max_tokens', 'integer_above_max_value', 'Expected a value <= 100000000'],
    [{ max_completion_tokens: '5' }, 'max_completion_tokens', 'invalid_type', 'expected an integer'],
    [{ top_logprobs: 21 }, 'top_logprobs', 'integer_above_max_value', 'Expected a value <= 20'],
    [{ seed: 0.5 }, 'seed', 'invalid_type', 'expected an integer'],
    [{ stop: 5 }, 'stop', 'invalid_type', 'expected a string or an array, but got a number'],
    [{ stop: ['a', 5] }, 'stop[1]', 'invalid_type', 'expected a string, but got a number'],
    [{ tools: {} }, 'tools', 'invalid_type', 'expected an array, but got an object'],
    [{ tool_choice: 5 }, 'tool_choice', 'invalid_type', 'expected a string or an object'],
    [{ response_format: 'json' }, 'response_format', 'invalid_type', 'expected an object, but got a string'],
    [{ logit_bias: [] }, 'logit_bias', 'invalid_type', 'expected an object, but got an array'],
    [{ parallel_tool_calls: 1 }, 'parallel_tool_calls', 'invalid_type', 'expected a boolean'],
    [{ logprobs: 5 }, 'logprobs', 'invalid_type', 'expected a boolean'],
    [{ reasoning_effort: 3 }, 'reasoning_effort', 'invalid_type', 'expected a string'],
    [{ verbosity: 3, model: 'test-local' }, 'verbosity', 'invalid_type', 'expected a string'],
    [{ modalities: 'text' }, 'modalities', 'invalid_type', 'expected an array'],
    [{ audio: 'alloy' }, 'audio', 'invalid_type', 'expected an object'],
    [{ prediction: [] }, 'prediction', 'invalid_type', 'expected an object'],
    [{ stream: true, stream_options: true }, 'stream_options', 'invalid_type', 'expected an object'],
    [
      { stream: true, stream_options: { include_usage: 1 } },
      'stream_options.include_usage',
      'invalid_type',
      'expected a boolean',
    ],
    [{ store: 'no' }, 'store', 'invalid_type', 'expected a boolean'],
    [{ metadata: 'x' }, 'metadata', 'invalid_type', 'expected an object'],
    [{ user: 5 }, 'user', 'invalid_type', 'expected a string'],
    [{ prompt_cache_key: 5 }, 'prompt_cache_key', 'invalid_type', 'expected a string'],
    [{ prompt_cache_retention: 24 }, 'prompt_cache_retention', 'invalid_type', 'expected a string'],
  ]
  playAll(
    rows.map(([wrong, param, code, word]) => ({
      name: `${JSON.stringify(wrong)}: ${param}`,
      body: { model: 'test-chat', messages: say('Hello!'), ...wrong },
      status: 400,
      error: { param, code, type: 'invalid_request_error' },
      words: [word],
    })),
  )
})

describe('fields of embeddings', () => {
  const rows: [wrong: Record<string, unknown>, param: string, code: string, word: string][] = [
    [{ input: undefined }, 'input', 'missing_required_parameter', "Missing required parameter: 'input'."],
    [{ input: null }, 'input', 'invalid_type', 'expected a string or an array, but got null'],
    [{ input: 5 }, 'input', 'invalid_type', 'expected a string or an array, but got a number'],
    [{ input: '' }, 'input', 'empty_string', 'Expected a text with at least one character.'],
    [{ input: [] }, 'input', 'empty_array', 'Expected an array with at least one item.'],
    [{ input: ['a', ''] }, 'input[1]', 'empty_string', 'Expected a text with at least one character.'],
    [{ input: ['a', 5] }, 'input[1]', 'invalid_type', 'expected a string, but got a number'],
    [{ input: [1, 2, 'a'] }, 'input[2]', 'invalid_type', 'expected an integer, but got a string'],
    [{ input: [[1], []] }, 'input[1]', 'empty_array', 'Expected an array with at least one item.'],
    [{ input: [[1], [2, 'a']] }, 'input[1][1]', 'invalid_type', 'expected an integer, but got a string'],
    [
      { input: Array(8_193).fill('a') },
      'input',
      'invalid_value',
      'Expected at most 8192 items, but got 8193',
    ],
    [
      { encoding_format: 'hex' },
      'encoding_format',
      'invalid_value',
      "Supported values are: 'float', 'base64'.",
    ],
    [{ dimensions: 0 }, 'dimensions', 'integer_below_min_value', 'Expected a value >= 1'],
    [{ dimensions: '256' }, 'dimensions', 'invalid_type', 'expected an integer'],
    [{ user: 5 }, 'user', 'invalid_type', 'expected a string'],
  ]
  playAll(
    rows.map(([wrong, param, code, word]) => ({
      name: `${JSON.stringify(wrong).slice(0, 60)}: ${param}`,
      path: '/v1/embeddings',
      body: { model: 'test-embedding', input: 'Hello!', ...wrong },
      status: 400,
      error: { param, code, type: 'invalid_request_error' },
      words: [word],
    })),
  )
})

describe('hostile bodies', () => {
  const messages = '"messages":[{"role":"user","content":"Hello!"}]'
  const twice = (name: string, body: string, param: string): Scenario => ({
    name,
    body,
    status: 400,
    error: { code: 'duplicate_field', param },
    words: [`The body has the field '${param}' twice.`],
  })
  const deep = (name: string, value: string, param: string): Scenario => ({
    name,
    body: `{"model":"test-local",${messages},${value}}`,
    status: 400,
    error: { code: 'too_deep', param },
    words: [`The field '${param}' nests more than 128 levels deep.`],
  })
  const tooLarge = (name: string, path: string, body: unknown): Scenario => ({
    name,
    path,
    body,
    status: 413,
    error: { code: 'body_too_large', type: 'invalid_request_error' },
    words: ['bytes, the limit here'],
  })
  const mebibyte = Buffer.from(`"${'a'.repeat(1024 * 1024)}"`)
  playAll([
    twice('the same key twice', `{"model":"test-chat",${messages},"model":"test-xai"}`, 'model'),
    twice(
      'the same key, once escaped',
      `{"model":"test-chat",${messages},"mod\\u0065l":"test-xai"}`,
      'model',
    ),
    twice('escaped first', `{"\\u006dessages":[],"model":"test-chat",${messages}}`, 'messages'),
    twice('a field that nobody knows', `{"model":"test-chat",${messages},"x":1,"x":2}`, 'x'),
    deep('nested arrays', `"x":${'['.repeat(200)}${']'.repeat(200)}`, 'x'),
    deep('nested objects', `"metadata":${'{"a":'.repeat(200)}1${'}'.repeat(200)}`, 'metadata'),
    deep('a million brackets that never close', `"x":${'['.repeat(1_000_000)}`, 'x'),
    {
      name: 'more messages than the limit',
      body: () => ({ model: 'test-chat', messages: Array(17_000).fill(say('x')[0]) }),
      status: 400,
      error: { param: 'messages', code: 'invalid_value' },
      words: ['Expected at most 16384 items, but got 17000 instead.'],
    },
    {
      name: '__proto__ instead of fields',
      body: `{"__proto__":{"model":"test-chat","polluted":true},"constructor":{"prototype":{"polluted":true}},${messages}}`,
      status: 400,
      error: { param: 'model', code: 'missing_required_parameter' },
    },
    {
      name: '__proto__ instead of a message’s fields',
      body: '{"model":"test-chat","messages":[{"__proto__":{"role":"user","content":"Hello!"}}]}',
      status: 400,
      error: { param: 'messages[0].role', code: 'missing_required_parameter' },
    },
    {
      name: 'an unsupported compression',
      body: Bun.zstdCompressSync(`{"model":"test-chat",${messages}}`),
      headers: { 'content-encoding': 'zstd' },
      status: 415,
      error: { code: 'unsupported_encoding', param: null },
      words: ["Content-Encoding 'zstd' is not supported here", 'gzip'],
      answers: { 'accept-encoding': 'gzip, deflate, identity' },
    },
    tooLarge('too large by its length', '/v1/embeddings', () => ' '.repeat(16 * 1024 * 1024 + 1)),
    tooLarge('too large, a chat', '/v1/chat/completions', () => ' '.repeat(32 * 1024 * 1024 + 1)),
    tooLarge(
      'too large in pieces of unknown number',
      '/v1/embeddings',
      () => new ReadableStream({ pull: (controller) => controller.enqueue(mebibyte) }),
    ),
  ])

  test('a very long key is not repeated in full', async () => {
    const key = 'k'.repeat(1_000_000)
    const { text } = await play(gateway, {
      name: 'long key',
      body: `{"${key}":1,"${key}":2}`,
      status: 400,
      error: { code: 'duplicate_field', param: 'k'.repeat(128) },
    })
    expect(text.length).toBeLessThan(1_000)
  })

  test('no object of this process was polluted', () => {
    expect('polluted' in {}).toBe(false)
  })
})

describe('bodies above the limits of content', () => {
  const list = (count: number, item: (index: number) => string) =>
    `[${Array.from({ length: count }, (_, index) => item(index)).join()}]`
  const unique = (count: number) => Array.from({ length: count }, (_, index) => `"field${index}":0`).join()
  const messages = '"messages":[{"role":"user","content":"Hello!"}]'
  const row = (name: string, body: () => string, words: string, param: string | null = 'x'): Scenario => ({
    name,
    body,
    status: 400,
    error: { code: 'body_too_complex', param, type: 'invalid_request_error' },
    words: [`The body has more than ${words}, the most that is read`, 'a repeat of the same cannot help'],
  })
  const inside = (value: () => string) => () => `{"model":"test-chat",${messages},"x":${value()}}`
  playAll([
    row('a hundred thousand fields', () => `{${unique(100_000)}}`, '1,000 fields', null),
    row('a million fields', () => `{${unique(1_000_000)}}`, '1,000 fields', null),
    row(
      'members deep inside',
      inside(() => `{"y":[{${unique(40_001)}}]}`),
      '40,000 members in its objects',
    ),
    row(
      'members of many objects',
      inside(() => list(60_000, () => '{"a":1}')),
      '40,000 members in its objects',
    ),
    row(
      '30 MB of empty arrays',
      inside(() => list(10_000_000, () => '[]')),
      '60,000 objects, arrays and texts',
      null,
    ),
    row(
      'small texts',
      inside(() => list(100_001, (index) => `"${index}"`)),
      '60,000 objects, arrays and texts',
    ),
    row(
      'numbers',
      inside(() => list(500_001, () => '1')),
      '500,000 values',
    ),
    row(
      'digits',
      inside(() => '1'.repeat(5_000_000)),
      '4,194,304 characters outside of its texts',
      null,
    ),
    row('white space', () => ' '.repeat(5_000_000), '4,194,304 characters outside of its texts', null),
    row(
      'escapes',
      inside(() => `"${'\\u0041'.repeat(1_000_001)}"`),
      '1,000,000 escaped characters in its texts',
      null,
    ),
    row(
      'backslashes',
      inside(() => `"${'\\\\'.repeat(10_000_000)}"`),
      '1,000,000 escaped characters in its texts',
      null,
    ),
  ])

  const honest = (name: string, body: () => unknown, path?: string): Scenario => ({
    name,
    body,
    ...(path && { path }),
    status: 200,
    vendorCalls: 1,
    charges: 1,
  })
  const properties = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [
      `property${index}`,
      { type: 'string', description: 'What it is for.', enum: ['a', 'b', 'c'] },
    ]),
  )
  const tools = Array.from({ length: 128 }, (_, index) => ({
    type: 'function',
    function: { name: `tool${index}`, description: 'A tool.', parameters: { type: 'object', properties } },
  }))
  playAll([
    honest('128 tools with large schemas', () => ({ model: 'test-chat', messages: say('Hello!'), tools })),
    honest('a thousand messages of parts', () => ({
      model: 'test-chat',
      messages: Array.from({ length: 1_000 }, () => ({
        role: 'user',
        content: [
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ],
      })),
    })),
    honest('a text of 100,000 tokens', () => ({
      model: 'test-chat',
      messages: say('word\n'.repeat(100_000)),
    })),
    honest('24 MB of an image', () => ({
      model: 'test-chat',
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'image_url',
              image_url: { url: `data:image/png;base64,${'A'.repeat(24 * 1024 * 1024)}` },
            },
          ],
        },
      ],
    })),
    honest(
      '2,048 inputs',
      () => ({ model: 'test-embedding', input: Array(2_048).fill('A sentence.') }),
      '/v1/embeddings',
    ),
    honest(
      '200,000 tokens as numbers',
      () => ({ model: 'test-embedding', input: Array(40).fill(Array(5_000).fill(12_345)) }),
      '/v1/embeddings',
    ),
  ])
})

describe('names that parsers interpret differently', () => {
  const messages = '"messages":[{"role":"user","content":"Hello!"}]'
  const twice = (body: string, param: string): Scenario => ({
    name: `${param} twice`,
    body: `{"model":"test-chat",${messages},${body}}`,
    status: 400,
    error: { code: 'duplicate_field', param },
    words: [`The body has the field '${param}' twice.`],
  })
  const cased = (body: string, param: string, known: string, path?: string): Scenario => ({
    name: `${param} for ${known}`,
    body,
    ...(path && { path }),
    status: 400,
    error: { code: 'unknown_parameter', param },
    words: [`Unknown parameter: '${param}'. It differs from '${known}' only by case`],
  })
  const chat = (body: string, param: string, known: string) =>
    cased(`{"model":"test-chat",${messages},${body}}`, param, known)
  playAll([
    twice('"x":{"a":1,"a":2}', 'x.a'),
    twice('"x":{"a":1,"\\u0061":2}', 'x.a'),
    twice('"metadata":{"user":"a","user":"b"}', 'metadata.user'),
    twice('"logit_bias":{"50256":1,"50256":100}', 'logit_bias.50256'),
    twice(
      '"tools":[{},{"function":{"parameters":{"properties":{"a":{},"b":{},"a":{}}}}}]',
      'tools[1].function.parameters.properties.a',
    ),
    twice('"x":[[{"__proto__":1,"__proto__":2}]]', 'x[0][0].__proto__'),
    chat('"Max_Tokens":5', 'Max_Tokens', 'max_tokens'),
    chat('"max_tokens":5,"MAX_TOKENS":100000', 'MAX_TOKENS', 'max_tokens'),
    chat('"M\\u0061x_tokens":5', 'Max_tokens', 'max_tokens'),
    // Letters that fold to others: parsers such as Go's read these as `stream` and `max_tokens`.
    chat('"\u017ftream":true', '\u017ftream', 'stream'),
    chat('"max_to\u212aens":100000', 'max_to\u212aens', 'max_tokens'),
    chat('"stream_options":{"Include_Usage":true}', 'stream_options.Include_Usage', 'include_usage'),
    chat('"Service_Tier":"priority"', 'Service_Tier', 'service_tier'),
    chat('"tools":[{"type":"function","Type":"web_search"}]', 'tools[0].Type', 'type'),
    chat('"unknown":1,"Unknown":2', 'Unknown', 'unknown'),
    cased('{"model":"test-chat","Model":"test-xai","messages":[]}', 'Model', 'model'),
    cased(
      '{"model":"test-chat","messages":[{"role":"user","content":"a","Content":"b"}]}',
      'messages[0].Content',
      'content',
    ),
    cased(
      '{"model":"test-chat","messages":[{"role":"user","content":[{"type":"text","TYPE":"image_url"}]}]}',
      'messages[0].content[0].TYPE',
      'type',
    ),
    cased('{"model":"test-embedding","input":"a","Input":"b"}', 'Input', 'input', '/v1/embeddings'),
    {
      name: 'freely chosen names that differ only in case',
      body: {
        model: 'test-chat',
        messages: [
          ...say('Hello!'),
          {
            role: 'assistant',
            tool_calls: [
              { id: 'a', type: 'function', function: { name: 'a', arguments: '{"a":1,"a":2,"A":3}' } },
            ],
          },
          { role: 'tool', tool_call_id: 'a', content: '1' },
        ],
        tools: [
          {
            type: 'function',
            function: {
              name: 'a',
              parameters: { type: 'object', properties: { a: {}, A: {}, Type: {}, type: {} } },
            },
          },
        ],
        metadata: { user: 'a', User: 'b' },
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'a', schema: { type: 'object', properties: { Name: {}, name: {} } } },
        },
      },
      status: 200,
      vendorCalls: 1,
      charges: 1,
    },
  ])
})

describe('routes', () => {
  const notFound = { status: 404, logRows: 0, error: { code: 'unknown_route', param: null } }
  const wrongMethod = {
    status: 405,
    logRows: 0,
    error: { code: 'method_not_allowed', type: 'invalid_request_error' },
    answers: { allow: 'POST' },
  }
  playAll([
    {
      ...notFound,
      name: 'unknown',
      path: '/v1/nothing',
      body: {},
      words: ['There is no POST /v1/nothing here.'],
    },
    {
      ...wrongMethod,
      name: 'the root',
      path: '/',
      body: {},
      answers: { allow: 'GET, HEAD' },
      words: ['/ takes GET or HEAD, not POST. The API is below /v1.'],
    },
    { ...notFound, name: 'without the version', path: '/chat/completions', body: {} },
    { ...notFound, name: 'dots', method: 'GET', path: '/v1/../../etc/passwd', absent: ['root:'] },
    { ...wrongMethod, name: 'GET', method: 'GET', words: ['/v1/chat/completions takes POST, not GET.'] },
    { ...wrongMethod, name: 'PUT', method: 'PUT', body: {} },
    { ...wrongMethod, name: 'DELETE', method: 'DELETE', path: '/v1/embeddings' },
  ])

  test('every path answers other methods with 405 and the list of its methods', async () => {
    const { world } = gateway.server
    const routes = createApp(world, createGateway(world)).routes.filter(({ method }) => method !== 'ALL')
    const literal = (path: string) => path.replace(/:\w+|\*/g, 'some')
    const isObject = (route: (typeof routes)[number], method: string, path: string) =>
      route.method === method && new RegExp(`^${route.path.replace(/:\w+$/, '[^/:]+')}$`).test(path)
    let refused = 0
    for (const { path } of routes.filter(({ method }) => method !== 'OPTIONS')) {
      const taken = routes
        .filter((route) => literal(route.path) === literal(path))
        .map(({ method }) => method)
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        // The path can also be that of a kept object with this id.
        if (taken.includes(method) || routes.some((route) => isObject(route, method, path))) continue
        const response = await fetch(`${gateway.url}${literal(path)}`, { method })
        const { error } = (await response.json()) as { error: { code?: string } }
        const allow = response.headers
          .get('allow')
          ?.split(', ')
          .filter((each) => each !== 'HEAD')
        expect({ method, path, status: response.status, allow }).toEqual({
          method,
          path,
          status: 405,
          allow: [...new Set(taken)].filter((each) => each !== 'HEAD').sort(),
        })
        expect(error).toBeDefined()
        refused++
      }
    }
    expect(refused).toBeGreaterThan(60)
  })
})

// What holders of keys see about their requests, tasks and holds, the quote of a request before it is sent, and the secrets that
// they replace, on both databases. It contains nothing about another key, an upstream or costs.

import { afterAll, expect, test } from 'bun:test'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { newId, randomBytes } from '../../src/app/world'
import { beginArtifact, finishArtifact } from '../../src/artifacts/rows'
import { hold, release } from '../../src/billing/ledger/ledger'
import { audioFile } from '../support/audio-files'
import { databaseKinds } from '../support/databases/databases'
import { makeCharge } from '../support/databases/ledger-rows'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { startObjectStore, storeKey } from '../support/servers/object-store'

const gateways = new Map<string, TestGateway>()
const store = startObjectStore()
const s3 = {
  bucket: 'results',
  endpoint: store.endpoint,
  region: 'eu-central-1',
  accessKeyId: storeKey,
  secretAccessKey: 'secret',
}
const models = {
  'test-image': {
    family: 'dashscope-images',
    upstream: 'dashscope',
    upstreamModel: 'qwen-image-max',
    price: { per_image: '0.075' },
  },
  'test-transcribe': {
    family: 'openai-transcriptions',
    upstream: 'openai',
    upstreamModel: 'whisper-1',
    price: { per_audio_minute: '0.006' },
  },
}
for (const database of databaseKinds) {
  const artifacts = { keep: '1h', ...(database === 'postgres' && { s3 }) }
  gateways.set(database, await startTestGateway({ database, models, config: { artifacts } }))
}
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.close()
  await store.stop()
}, 180_000)

async function ask(
  gateway: TestGateway,
  path: string,
  secret = gateway.secret,
  method = 'GET',
  body?: object,
) {
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${secret}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: answers of many forms
  return { status: response.status, body: (await response.json()) as any }
}

const chat = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello!' }] }

for (const [database, gateway] of gateways) {
  test(`a key lists its own requests by page and filter, and one in full (${database})`, async () => {
    const own = await gateway.makeKey('team', '5')
    const other = await gateway.makeKey('team', '5')
    const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
    for (let index = 0; index < 3; index++) await (await gateway.chat({}, bearer(own.secret))).text()
    await (await gateway.chat({ model: 'none' }, bearer(own.secret))).text()
    const foreign = await gateway.chat({}, bearer(other.secret))
    await foreign.text()
    await gateway.server.world.requestLog.flush()
    const all = await ask(gateway, '/v1/requests', own.secret)
    expect(all.body.data.map(({ status }: { status: number }) => status)).toEqual([400, 200, 200, 200])
    expect(all.body.data[1]).toMatchObject({ operation: 'chat', model: 'test-chat', amount_usd: '0.000042' })
    const pages: string[] = []
    for (let next: string | null = ''; next !== null; ) {
      const after: string = next === '' ? '' : `&after=${encodeURIComponent(next)}`
      const { body } = await ask(gateway, `/v1/requests?limit=2${after}`, own.secret)
      pages.push(...body.data.map(({ id }: { id: string }) => id))
      next = body.next
    }
    expect(pages).toEqual(all.body.data.map(({ id }: { id: string }) => id))
    expect((await ask(gateway, '/v1/requests?status=failed', own.secret)).body.data.length).toBe(1)
    for (const wrong of [
      'status=x',
      'limit=0',
      'limit=1000',
      'after=x',
      'since=x',
      'model=%00',
      `model=${'x'.repeat(300)}`,
    ])
      expect({ wrong, status: (await ask(gateway, `/v1/requests?${wrong}`, own.secret)).status }).toEqual({
        wrong,
        status: 400,
      })
    const one = await ask(gateway, `/v1/requests/${pages[1]}`, own.secret)
    expect(one.body).toMatchObject({
      object: 'request',
      request: { status: 200 },
      charges: [{ state: 'settled', amount_usd: '0.000042' }],
      task: null,
    })
    expect(JSON.stringify([all.body, one.body])).not.toMatch(
      /"(upstream|client_address|attempts|cost\w*|prices)":/,
    )
    const hidden = foreign.headers.get('x-request-id')
    for (const id of [hidden, 'none', "' or 1=1", '%00'])
      expect((await ask(gateway, `/v1/requests/${id}`, own.secret)).status).toBe(404)
  })

  test(`a key sums its own requests, and can ask nothing of others or of the operator (${database})`, async () => {
    const own = await gateway.makeKey('sums', '5')
    const other = await gateway.makeKey('sums', '5')
    const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
    for (const model of ['test-chat', 'test-chat', 'test-chat', 'none'])
      await (await gateway.chat({ model }, bearer(own.secret))).text()
    await (await gateway.chat({}, bearer(other.secret))).text()
    await gateway.server.world.requestLog.flush()
    const sums = await ask(gateway, '/v1/requests/summary', own.secret)
    expect(sums.body).toMatchObject({
      requests: 4,
      failed: 1,
      failed_by: { caller: 1, gateway: 0, vendor: 0 },
      amount_usd: '0.000126',
      covered_since: null,
    })
    const models = [
      { value: 'test-chat', requests: 3, failed: 0 },
      { value: 'none', requests: 1, failed: 1 },
    ]
    expect(sums.body.facets.model).toEqual(models)
    expect(Object.keys(sums.body.facets)).toEqual([
      'status',
      'error',
      'failed_by',
      'model',
      'operation',
      'spender',
    ])
    const chosen = await ask(gateway, '/v1/requests/summary?model=none&text=NONE', own.secret)
    expect(chosen.body).toMatchObject({
      requests: 1,
      failed: 1,
      facets: { operation: [{ value: 'chat', requests: 1 }] },
    })
    const several = await ask(gateway, '/v1/requests?model=none,test-chat&error=model_not_found', own.secret)
    expect(several.body.data).toMatchObject([
      {
        status: 400,
        error_code: 'model_not_found',
        asked_model: 'none',
        failed_by: 'caller',
        error_param: 'model',
      },
    ])
    // Data of another key or of the operator cannot be queried.
    for (const foreign of ['key=x', 'account=sums', 'upstream=openai', 'metadata=a=b', 'keyId=x'])
      expect((await ask(gateway, `/v1/requests/summary?${foreign}`, own.secret)).status).toBe(400)
    for (const text of ['openai', other.id]) {
      const none = await ask(gateway, `/v1/requests/summary?text=${text}`, own.secret)
      expect({ text, requests: none.body.requests }).toEqual({ text, requests: 0 })
    }
    expect((await ask(gateway, '/v1/requests/summary', other.secret)).body.requests).toBe(1)
    for (const wrong of ['above_usd=x', 'status=x', 'failed_by=x', 'slower_ms=-1', 'since=x'])
      expect((await ask(gateway, `/v1/requests/summary?${wrong}`, own.secret)).status).toBe(400)
  })

  test(`a key lists its own tasks and holds (${database})`, async () => {
    const own = await gateway.makeKey('makers', '5')
    const other = await gateway.makeKey('makers', '5')
    const video = { model: 'vidw2.6-t2v', input: { prompt: 'A cat' } }
    for (const { secret } of [own, own, other])
      expect((await ask(gateway, '/v1/videos/generations', secret, 'POST', video)).status).toBe(202)
    const { body } = await ask(gateway, '/v1/tasks?limit=1', own.secret)
    expect(body.data).toMatchObject([{ model: 'vidw2.6-t2v', held_usd: '0.05', amount_usd: '0.00' }])
    const rest = await ask(gateway, `/v1/tasks?limit=1&after=${body.next}`, own.secret)
    expect([rest.body.data.length, rest.body.next]).toEqual([1, null])
    expect((await ask(gateway, '/v1/tasks?state=failed', own.secret)).body.data).toEqual([])
    const [known] = rest.body.data
    expect(await ask(gateway, `/v1/tasks/${known.id}`, own.secret)).toMatchObject({
      status: 200,
      body: { id: known.id, model: 'vidw2.6-t2v' },
    })
    // Another key of the same account does not see it.
    for (const [id, secret] of [
      [known.id, other.secret],
      ['none', own.secret],
      ['%00', own.secret],
    ])
      expect((await ask(gateway, `/v1/tasks/${id}`, secret)).body.error.code).toBe('task_not_found')
    for (const wrong of ['state=x', 'after=x', 'limit=x'])
      expect((await ask(gateway, `/v1/tasks?${wrong}`, own.secret)).status).toBe(400)
    const { db } = gateway.server.world
    const charge = makeCharge(1_000, { account: 'makers', keyId: own.id })
    await hold(db, charge)
    const holds = (await ask(gateway, '/v1/holds', own.secret)).body.data
    expect(holds.some(({ id }: { id: string }) => id === charge.id)).toBe(true)
    const theirs = (await ask(gateway, '/v1/holds', other.secret)).body.data
    expect(theirs.some(({ id }: { id: string }) => id === charge.id)).toBe(false)
    await release(db, charge, { endedBy: 'expired', endedAt: charge.createdAt + 1 })
  })

  test(`a key lists the results that are kept for it, and reads them (${database})`, async () => {
    const own = await gateway.makeKey('painters', '5')
    const other = await gateway.makeKey('painters', '5')
    const listed = async (query = '', secret = own.secret) =>
      (await ask(gateway, `/v1/artifacts${query}`, secret)).body
    expect(await listed()).toEqual({ object: 'list', data: [], next: null })
    const picture = {
      model: 'test-image',
      input: { messages: [{ role: 'user', content: [{ text: 'A cat' }] }] },
    }
    for (const { secret } of [own, own, other])
      expect((await ask(gateway, '/v1/images/generations', secret, 'POST', picture)).status).toBe(200)
    const whole = await listed()
    const shape = { content_type: 'image/png', bytes: expect.any(Number) }
    expect(whole.data).toMatchObject([shape, shape])
    const [newest, oldest] = whole.data
    expect(Date.parse(newest.expires_at) - Date.parse(newest.created_at)).toBe(3_600_000)
    expect(newest.url).toStartWith(`${gateway.url}/v1/artifacts/${newest.id}?`)
    const file = await fetch(newest.url)
    expect([file.status, (await file.bytes()).byteLength]).toEqual([200, newest.bytes])
    const first = await listed('?limit=1')
    expect([first.data, first.next]).toEqual([[newest], newest.id])
    expect(await listed(`?limit=1&after=${first.next}`)).toEqual({
      object: 'list',
      data: [oldest],
      next: null,
    })
    expect((await listed(`?request=${oldest.request}`)).data).toEqual([oldest])
    const made = await ask(gateway, `/v1/requests/${oldest.request}`, own.secret)
    expect(made.body.charges).toMatchObject([{ state: 'settled', amount_usd: '0.075' }])
    // Another key of the same account has only its own, and nobody gets expired or incomplete ones.
    const [theirs] = (await listed('', other.secret)).data
    expect(whole.data.map(({ id }: { id: string }) => id)).not.toContain(theirs.id)
    expect((await listed(`?request=${theirs.request}`)).data).toEqual([])
    const { db, now } = gateway.server.world
    for (const expiresAt of [now() - 1, null]) {
      const id = newId('art')
      const row = { id, account: 'painters', keyId: own.id, charge: 'req_1', contentType: 'image/png' }
      await beginArtifact(db, { ...row, bytes: 5, place: 'disk', createdAt: now() })
      if (expiresAt !== null) await finishArtifact(db, id, { sha256: '00', expiresAt })
    }
    expect(await listed()).toEqual(whole)
    for (const wrong of ['after=x', 'limit=0', 'request=%00'])
      expect((await ask(gateway, `/v1/artifacts?${wrong}`, own.secret)).status).toBe(400)
    expect((await ask(gateway, '/v1/artifacts', 'sk-none')).status).toBe(401)
  })

  test(`a quote is what would be held, and rejects what would be rejected (${database})`, async () => {
    const quoteOf = (path: string, body: object) =>
      ask(gateway, '/v1/quotes', gateway.secret, 'POST', { path, body })
    const before = (await gateway.charges()).length
    const limited = { ...chat, max_tokens: 100 }
    const quote = await quoteOf('/v1/chat/completions', limited)
    expect(quote.body).toMatchObject({ object: 'quote', operation: 'chat', model: 'test-chat' })
    expect(quote.body.prices).toMatchObject({ input_token: '0.000001', output_token: '0.000002' })
    expect((await gateway.charges()).length).toBe(before)
    await (await gateway.chat(limited)).text()
    const charge = await gateway.newestCharge()
    expect(Math.round(Number(quote.body.most_usd) * 1e9)).toBe(charge?.held as number)
    const video = await quoteOf('/v1/videos/generations', {
      model: 'vidw2.6-t2v',
      input: { prompt: 'A cat' },
      parameters: { resolution: '720p', duration: 5 },
    })
    expect(video.body).toMatchObject({ most_usd: '0.05', quantities: { second: 5 } })
    const plain = await ask(gateway, '/v1/quotes', gateway.secret, 'POST', {
      path: '/v1/videos/generations',
      body: { model: 'vidw2.6-t2v', prompt: 'A cat', resolution: '1080p', duration: 5 },
      plain: true,
    })
    expect(plain.body).toMatchObject({
      most_usd: '0.10',
      body: { model: 'vidw2.6-t2v', input: { prompt: 'A cat' } },
    })
    const asSent = await quoteOf('/v1/videos/generations', plain.body.body)
    expect(asSent.body.most_usd).toBe('0.10')
    // The same words always get the same form: of two, the one that has the options.
    const pictures = { model: 'test-image', prompt: 'A cat' }
    const options = { response_format: 'b64_json' }
    const forms = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const body = index < 4 ? pictures : { ...pictures, options }
        const quoted = await ask(gateway, '/v1/quotes', gateway.secret, 'POST', {
          path: '/v1/images/generations',
          body,
          plain: true,
        })
        return quoted.body.body
      }),
    )
    const native = {
      model: pictures.model,
      input: { messages: [{ role: 'user', content: [{ text: 'A cat' }] }] },
    }
    expect(forms).toEqual([...Array(4).fill(native), ...Array(4).fill({ ...pictures, ...options })])
    const sound = `data:audio/wav;base64,${Buffer.from(await (await audioFile('wav', 3)).arrayBuffer()).toString('base64')}`
    const heard = await quoteOf('/v1/audio/transcriptions', { model: 'test-transcribe', file: sound })
    expect(heard.body).toMatchObject({ most_usd: '0.0003', quantities: { audio_second: 3 } })
    const refusals: [string, object, string][] = [
      ['/v1/chat/completions', { ...chat, model: 'none' }, 'model_not_found'],
      ['/v1/chat/completions', { model: 'test-chat' }, 'missing_required_parameter'],
      ['/v1/audio/transcriptions', { model: 'none' }, 'model_not_found'],
      ['/v1/nothing', {}, 'invalid_value'],
    ]
    for (const [path, body, code] of refusals) {
      const { status, body: refused } = await quoteOf(path, body)
      expect({ path, status, code: refused.error?.code }).toEqual({
        path,
        status: status === 404 ? 404 : 400,
        code,
      })
    }
    for (const body of [{}, { path: '/v1/chat/completions' }, { path: '/v1/chat/completions', body: [] }])
      expect((await ask(gateway, '/v1/quotes', gateway.secret, 'POST', body)).status).toBe(400)
  })

  test(`the holder of a key replaces its secrets, and the trail says so without them (${database})`, async () => {
    const { secret, id } = await gateway.makeKey('roller', '1')
    const rolled = await ask(gateway, '/v1/me/roll', secret, 'POST')
    expect(rolled.body).toEqual({ object: 'key_secret', name: id, key: rolled.body.key })
    expect(rolled.body.key).toStartWith('sk-')
    expect((await ask(gateway, '/v1/me', rolled.body.key)).status).toBe(200)
    const webhook = await ask(gateway, '/v1/me/roll-webhook', rolled.body.key, 'POST')
    expect(webhook.body.webhook_secret).toStartWith('whsec_')
    const token = makeToken(randomBytes)
    const admin = { id: newId('adm'), name: newId('eve'), role: 'viewer' as const, token, expiresAt: null }
    await createAdmin(gateway.server.world.db, { ...admin, createdAt: 1 })
    const trail = await ask(gateway, `/admin/v1/audit?target=key:${id}`, token)
    expect(trail.body.data.map(({ actor, action }: Record<string, string>) => [actor, action])).toEqual([
      [`key ${id}`, 'key.roll_webhook'],
      [`key ${id}`, 'key.roll'],
    ])
    expect(JSON.stringify(trail.body)).not.toMatch(/sk-[0-9A-Za-z]{30}|whsec_/)
  })
}

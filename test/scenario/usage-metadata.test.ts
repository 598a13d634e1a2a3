// Usage by metadata of requests: read from a header and a body, bounded in length and number, summed up, and never sent to a vendor
// for which the caller did not intend it.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chargesOf, totalUsage, usageBy } from '../../src/billing/reports/usage-report'
import { addToTotals } from '../../src/billing/reports/usage-totals'
import { metadataOf } from '../../src/request/caller/metadata'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { completion, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(60_000)

const NAMES = ['team', 'user']
test.each<[name: string, body: unknown, header: string | null, found: object | undefined]>([
  ['nothing', {}, null, undefined],
  ['a header of pairs', {}, 'team=search, other=x ,user=a=b', { team: 'search', user: 'a=b' }],
  ['a header of JSON', {}, '{"team":"search","deep":{"x":1}}', { team: 'search' }],
  ['a header that is neither', {}, '{"team"', undefined],
  ['a header that is too long', {}, `team=${'x'.repeat(5_000)}`, undefined],
  [
    'metadata of the body',
    { metadata: { team: 7, more: 'x' }, user: 'ann' },
    null,
    { team: '7', user: 'ann' },
  ],
  ['a header before the body', { metadata: { team: 'body' } }, 'team=header', { team: 'header' }],
  ['the user of messages', { metadata: { user_id: 'ann' } }, null, { user: 'ann' }],
  ['no values that are lists or objects', { metadata: { team: ['x'], user: {} } }, null, undefined],
  ['invalid metadata', { metadata: 'team', user: null }, null, undefined],
  ['one line, cut', { user: `a\n\u0000b${'c'.repeat(99)}` }, null, { user: `a b${'c'.repeat(61)}` }],
  ['whole characters', { user: `${'c'.repeat(63)}😀` }, null, { user: `${'c'.repeat(63)}\ufffd` }],
])('metadata is read: %s', (_, body, header, found) => {
  expect(metadataOf(NAMES, body, header)).toBe(found && JSON.stringify(found))
})

describe.each(databaseKinds)('metadata on %s', (database) => {
  let gateway: TestGateway
  const sent: string[] = []
  const vendor = startVendor({
    async answer(request) {
      sent.push(JSON.stringify(Object.fromEntries(request.headers)) + (await request.text()))
      return Response.json(completion('Hi', 10, 20))
    },
  })
  beforeAll(async () => {
    gateway = await startTestGateway({
      database,
      upstreams: { odd: vendor.upstream },
      models: {
        odd: {
          family: 'openai-chat',
          upstream: 'odd',
          price: { per_1m_input_tokens: '1', per_1m_output_tokens: '2' },
        },
      },
      config: { usage: { metadata: NAMES, maxMetadata: 4 } },
    })
  })
  afterAll(async () => {
    await gateway.close()
    await vendor.stop()
  })

  const ask = async (header: string | undefined, body: object = {}) => {
    const response = await gateway.chat(
      { model: 'odd', ...body },
      header === undefined ? {} : { 'x-gateway-metadata': header },
    )
    expect(response.status).toBe(200)
    return response.headers.get('x-request-id') ?? ''
  }
  const figures = async (by: 'metadata.team' | 'metadata.user' | 'account') =>
    Object.fromEntries(
      (await usageBy(gateway.server.world.db, by, { since: 0 })).map(({ name, requests }) => [
        name,
        requests,
      ]),
    )

  test('usage is counted by it, also of videos, by all and by one key', async () => {
    const { db } = gateway.server.world
    await ask('team=search')
    await ask('team=search', { user: 'ann' })
    await ask('{"team":"ads"}')
    await ask(undefined, { metadata: { other: 'x' } })
    const body = {
      model: 'vidw2.6-t2v',
      duration: 2,
      resolution: '720p',
      input: { prompt: '[sandbox task_ms=0]' },
    }
    const video = await gateway.post('/v1/videos/generations', body, { 'x-gateway-metadata': 'team=video' })
    expect(video.status).toBe(202)
    expect(await figures('metadata.team')).toEqual({ search: 2, ads: 1, video: 1, '(none)': 1 })
    await waitFor(async () => (await gateway.charges()).every(({ state }) => state !== 'held'))
    for (const work of [() => {}, () => addToTotals(db)]) {
      await work()
      expect(await figures('metadata.team')).toEqual({ search: 2, ads: 1, video: 1, '(none)': 1 })
      expect(await figures('metadata.user')).toEqual({ ann: 1, '(none)': 4 })
    }
    const [byTeam, byAccount] = [
      totalUsage(await usageBy(db, 'metadata.team', { since: 0 })),
      totalUsage(await usageBy(db, 'account', { since: 0 })),
    ]
    expect(byTeam).toEqual(byAccount)
    const response = await fetch(`${gateway.url}/v1/usage?by=metadata.team`, {
      headers: { authorization: `Bearer ${gateway.secret}` },
    })
    const { rows } = (await response.json()) as { rows: object[] }
    expect(rows).toContainEqual(expect.objectContaining({ 'metadata.team': 'search', requests: 2 }))
  })

  test('it is found with its request, and what comes beyond the most is counted as others', async () => {
    const id = await ask('team=search, user=ann')
    expect(await chargesOf(gateway.server.world.db, id)).toMatchObject([
      { metadata: '{"team":"search","user":"ann"}' },
    ])
    for (let index = 0; index < 5; index++) await ask(`team=many-${index}`)
    const teams = await figures('metadata.team')
    expect(teams).toMatchObject({ search: 3, '(other)': 5 })
    expect(await ask('team=ads')).toBeTruthy()
    expect(await figures('metadata.team')).toMatchObject({ ads: 2, '(other)': 5 })
  })

  test('a vendor gets what the caller wrote into the body, and no header', async () => {
    sent.length = 0
    await ask('team=secret-team', { user: 'ann', metadata: { team: 'shown' } })
    expect(sent.join()).not.toContain('secret-team')
    expect(sent.join()).not.toContain('x-gateway')
    expect(sent.join()).toContain('"user":"ann"')
    expect(sent.join()).toContain('"team":"shown"')
  })
})

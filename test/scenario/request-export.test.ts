// Requests by their metadata, and all of them as a file, on both databases: the final price is on each line, whatever page of the
// log it is on, a cell is never a formula, and no more than a page is in memory.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { newId, randomBytes } from '../../src/app/world'
import { addCredit, hold, release, settle } from '../../src/billing/ledger/ledger'
import { addToTotals, DAY_MS } from '../../src/billing/reports/usage-totals'
import type { Db } from '../../src/db/db'
import type { RequestFilter } from '../../src/request-log/filter'
import { exportRequests, listRequests } from '../../src/request-log/look-up'
import type { LoggedRequest } from '../../src/request-log/row'
import { databaseKinds, openTestDatabase } from '../support/databases/databases'
import { makeCharge, makeSettlement, START } from '../support/databases/ledger-rows'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'

setDefaultTimeout(120_000)

describe.each(databaseKinds)('requests on %s', (database) => {
  let gateway: TestGateway
  let token: string
  beforeAll(async () => {
    gateway = await startTestGateway({ database, config: { usage: { metadata: ['team', 'user'] } } })
    token = makeToken(randomBytes)
    const admin = { id: newId('adm'), name: 'eve', role: 'viewer' as const, expiresAt: null, createdAt: 1 }
    await createAdmin(gateway.server.world.db, { ...admin, token })
  })
  afterAll(() => gateway.close())

  const ask = async (metadata: string, body: object = {}) => {
    const response = await gateway.chat({ ...body }, { 'x-gateway-metadata': metadata })
    await response.text()
    return response.headers.get('x-request-id') ?? ''
  }
  const get = async (query: string) => {
    await gateway.server.world.requestLog.flush()
    return fetch(`${gateway.url}/admin/v1/requests?${query}`, {
      headers: { authorization: `Bearer ${token}` },
    })
  }
  const found = async (metadata: string, more = '') => {
    const response = await get(`metadata=${encodeURIComponent(metadata)}${more}`)
    const { data } = (await response.json()) as { data: { id: string; metadata: unknown }[] }
    return data.map(({ id }) => id)
  }

  test('are found by their metadata', async () => {
    const search = await ask('team=search')
    const both = await ask('team=search', { user: 'ann' })
    const long = await ask(`{"team":"a,\\"b\\"=c","user":"${'x'.repeat(99)}"}`)
    const third = await ask('team=search')
    expect(await found('team=search')).toEqual([third, both, search])
    expect(await found('team=search', '&status=2xx&limit=1')).toEqual([third])
    const refused = await ask('team=search', { max_tokens: 'many' })
    expect(await found('team=search', '&status=4xx')).toEqual([refused])
    expect(await found('user=ann')).toEqual([both])
    expect(await found('team=a,"b"=c')).toEqual([long])
    // A value is cut both when it is kept and when it is requested.
    expect(await found(`user=${'x'.repeat(99)}`)).toEqual([long])
    expect(await found('team=sea')).toEqual([])
    expect(await found('user=search')).toEqual([])
    const shown = (await (await get('metadata=user%3Dann')).json()) as { data: object[] }
    expect(shown.data).toMatchObject([{ metadata: { team: 'search', user: 'ann' } }])
    for (const wrong of ['team', 'team=', '=x', 'Team=x'])
      expect((await get(`metadata=${encodeURIComponent(wrong)}`)).status).toBe(400)
  })

  test('are exported as one file of all matches, with a column per metadata name', async () => {
    const formula = await ask('team==1+1, user=@cmd')
    const body = {
      model: 'vidw2.6-t2v',
      duration: 2,
      resolution: '720p',
      input: { prompt: '[sandbox task_ms=0]' },
    }
    const video = await gateway.post('/v1/videos/generations', body, { 'x-gateway-metadata': 'team=video' })
    const videoId = video.headers.get('x-request-id') ?? ''
    await waitFor(async () => (await gateway.charges()).every(({ state }) => state !== 'held'))
    const response = await get('format=csv')
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="requests.csv"')
    const [titles = '', ...lines] = (await response.text()).trimEnd().split('\r\n')
    const names = titles.split(',')
    expect(names).toEqual(
      expect.arrayContaining(['id', 'at', 'amount_usd', 'metadata.team', 'metadata.user']),
    )
    const cell = (id: string, name: string) =>
      lines.find((line) => line.startsWith(id))?.split(',')[names.indexOf(name)]
    expect(cell(formula, 'metadata.team')).toBe("'=1+1")
    expect(cell(formula, 'metadata.user')).toBe("'@cmd")
    expect(cell(formula, 'amount_usd')).toBe('0.000042')
    // The log has no price of a video, which is paid later.
    expect(Number(cell(videoId, 'amount_usd'))).toBeGreaterThan(0)
    const { data } = (await (await get('limit=1000')).json()) as { data: { id: string }[] }
    expect(lines.map((line) => line.split(',')[0])).toEqual(data.map(({ id }) => id))
    const linesOf = async (query: string) =>
      (await (await get(`format=csv&${query}`)).text()).trim().split('\r\n')
    expect((await linesOf('last=2')).length).toBe(3)
    expect((await linesOf('metadata=team%3Dvideo'))[1]).toStartWith(videoId)
    expect(await linesOf('until=2020-01-01')).toEqual([titles])
    for (const wrong of ['last=2', 'format=csv&after=1', 'format=csv&last=0', 'format=csv&status=x'])
      expect((await get(wrong)).status).toBe(400)
  })
})

/** A log of rows in pages of a few, newest first. */
function logOf(rows: readonly LoggedRequest[], pageRows: number) {
  const log = {
    lists: 0,
    find: async () => undefined,
    async list(_filter: RequestFilter, { limit, after }: { limit: number; after?: string | undefined }) {
      log.lists++
      const from = Number(after ?? 0)
      const to = Math.min(from + Math.min(limit, pageRows), rows.length)
      return { rows: rows.slice(from, to), next: to < rows.length ? String(to) : null, looked: null }
    },
  }
  return log
}

/** Videos of four days, each paid some time after its request, and some of them unsuccessful or late. */
async function makeVideos(db: Db, count: number) {
  await addCredit(db, { id: 'credit', account: 'alice', amountNano: 1_000_000, now: START, note: null })
  const stepMs = Math.floor((4 * DAY_MS) / count)
  const ends = []
  const rows: LoggedRequest[] = []
  const wanted: (number | null)[] = []
  for (let index = 0; index < count; index++) {
    const at = START + index * stepMs
    const charge = makeCharge(10, { id: `req_${index}`, operation: 'video', createdAt: at })
    const endedAt = at + (index % 7) * 3 * stepMs
    await hold(db, charge)
    const isFree = index % 5 === 1
    const end = isFree
      ? () => release(db, charge, { endedBy: 'upstream', endedAt })
      : () => settle(db, charge, makeSettlement((index % 9) + 1, { endedAt }))
    ends.push({ endedAt, end })
    rows.push({ id: charge.id, at, operation: 'video', status: 202, amount: null } as LoggedRequest)
    wanted.push(isFree ? 0 : (index % 9) + 1)
  }
  for (const { end } of ends.toSorted((one, other) => one.endedAt - other.endedAt)) await end()
  return { rows: rows.toReversed(), wanted: wanted.toReversed() }
}

test.each(databaseKinds)('each line has what was paid in the end, on %s', async (kind) => {
  const db = await openTestDatabase(kind)
  const { rows, wanted } = await makeVideos(db, 300)
  for (const work of [() => {}, () => addToTotals(db)]) {
    await work()
    for (const pageRows of [7, 1_000]) {
      const pages = await Array.fromAsync(exportRequests({ db, requests: logOf(rows, pageRows) }, {}))
      expect(pages.flat().map(({ amount }) => amount)).toEqual(wanted)
    }
    const page = await listRequests({ db, requests: logOf(rows.slice(100), 9) }, {}, { limit: 9 })
    expect(page.rows.map(({ amount }) => amount)).toEqual(wanted.slice(100, 109))
  }
  await db.close()
})

test('a file is read while it is sent, and no further than a limit of rows', async () => {
  const db = await openTestDatabase('sqlite')
  const rows = Array.from({ length: 100 }, (_, index) => ({ id: `req_${index}`, at: 1, amount: 1 }))
  const requests = logOf(rows as LoggedRequest[], 10)
  const reader = exportRequests({ db, requests }, {}, 35)
  await reader.next()
  expect(requests.lists).toBe(1)
  expect((await Array.fromAsync(reader)).flat().length).toBe(25)
  expect(requests.lists).toBe(4)
  await db.close()
})

// Usage reported by vendors compared with the charges: unchanged exports of vendors, whose columns are read by name, and the
// differences by day and model, on every database.

import { expect, test } from 'bun:test'
import { addCredit, hold, settle } from '../../src/billing/ledger/ledger'
import { reconcile } from '../../src/billing/proofs/reconciliation'
import { addToTotals } from '../../src/billing/reports/usage-totals'
import type { Db } from '../../src/db/db'
import { readVendorUsage } from '../../src/lib/file-formats/vendor-usage'
import { NANO_PER_USD } from '../../src/lib/money'
import { databaseKinds, openTestDatabase } from '../support/databases/databases'
import { makeCharge, makeSettlement } from '../support/databases/ledger-rows'

const [OCTOBER, NOVEMBER] = [Date.UTC(2026, 9), Date.UTC(2026, 10)]
const DAY_MS = 86_400_000

const usageExport = `start_time,end_time,start_time_iso,end_time_iso,project_id,num_model_requests,user_id,api_key_id,model,batch,service_tier,input_tokens,output_tokens,input_cached_tokens
1790812800,1790899200,2026-10-01T00:00:00+00:00,2026-10-02T00:00:00+00:00,proj_1,2,,,gpt-x-2026-04-14,,,300,30,100
1790812800,1790899200,2026-10-01T00:00:00+00:00,2026-10-02T00:00:00+00:00,proj_2,1,,,gpt-x-2026-04-14,,,100,10,0
1790899200,1790985600,2026-10-02T00:00:00+00:00,2026-10-03T00:00:00+00:00,,,,,,,,,,
`
const costExport = `\ufeffstart_time\tend_time\tstart_time_iso\tend_time_iso\tamount_value\tamount_currency\tline_item\tproject_id
1790812800\t1790899200\t2026-10-01T00:00:00+00:00\t2026-10-02T00:00:00+00:00\t0.8958740000000000\tusd\tgpt-x, input\t
1790812800\t1790899200\t2026-10-01T00:00:00+00:00\t2026-10-02T00:00:00+00:00\t1.1041260000000000\tusd\tgpt-x, output\t
1790899200\t1790985600\t2026-10-02T00:00:00+00:00\t2026-10-03T00:00:00+00:00\t\t\t\t
`
const messagesExport = `usage_date_utc,model_version,api_key,workspace,usage_type,context_window,usage_input_tokens_no_cache,usage_input_tokens_cache_write_5m,usage_input_tokens_cache_write_1h,usage_input_tokens_cache_read,usage_output_tokens,web_search_count,inference_geo,speed
2026-10-05,claude-y-20260101,"Key, one",Default,standard,≤ 200k,100,20,3,4000,50,0,global,
`

test('exports of vendors are read by their columns', () => {
  const day = '2026-10-01'
  expect(readVendorUsage(usageExport)).toEqual([
    { day, model: 'gpt-x-2026-04-14', requests: 2, inputTokens: 300, outputTokens: 30 },
    { day, model: 'gpt-x-2026-04-14', requests: 1, inputTokens: 100, outputTokens: 10 },
  ])
  expect(readVendorUsage(costExport)).toEqual([
    { day, model: 'gpt-x', costNano: 895_874_000 },
    { day, model: 'gpt-x', costNano: 1_104_126_000 },
  ])
  expect(readVendorUsage(messagesExport)).toEqual([
    { day: '2026-10-05', model: 'claude-y-20260101', inputTokens: 4_123, outputTokens: 50 },
  ])
  expect(
    readVendorUsage('Date;Model;In\n2026-10-01;m;5\n', { day: 'Date', model: 'Model', inputTokens: ['In'] }),
  ).toEqual([{ day, model: 'm', inputTokens: 5 }])
  expect(
    readVendorUsage(
      '\ufeffstart_time_iso,line_item,amount_value\r\n\r\n2026-10-01,"x ""y"", in\nput",0.5\r\n',
    ),
  ).toEqual([{ day, model: 'x "y"', costNano: 500_000_000 }])
})

test('an unreadable file is an error', () => {
  const rows: [string, RegExp][] = [
    ['', /has no rows/],
    ['a,b\n1,2\n', /its columns are not known: a, b/],
    [messagesExport.replace('2026-10-05', 'yesterday'), /line 2 has no day/],
    [messagesExport.replace('4000', 'many'), /line 2 has "many", which is not a number of inputTokens/],
    ['day,model\n2026-10-01,"open\n', /line 2 has a quote in an odd place/],
    [costExport.replaceAll(/gpt-x, \w+/g, ''), /line 2 has no model in line_item: export it by/],
  ]
  for (const [text, fault] of rows) expect(() => readVendorUsage(text)).toThrow(fault)
  expect(() => readVendorUsage('a,b\n1,2\n', { day: 'a', model: 'c' })).toThrow(
    'it has no column c, only a, b',
  )
})

/** Charges of October, and some next to it. */
async function openCharges(kind: Db['kind']): Promise<Db> {
  const db = await openTestDatabase(kind)
  await addCredit(db, { id: 'd', account: 'alice', amountNano: 100 * NANO_PER_USD, now: OCTOBER, note: null })
  const charge = async (model: string, at: number, priceNano: number, usage: object | null) => {
    const opened = makeCharge(priceNano, { model, createdAt: at, expiresAt: at + DAY_MS })
    await hold(db, opened)
    await settle(
      db,
      opened,
      makeSettlement(priceNano, { endedAt: at, usageJson: usage && JSON.stringify(usage) }),
    )
  }
  const chat = (prompt: number, completion: number) => ({
    prompt_tokens: prompt,
    completion_tokens: completion,
  })
  await charge('fast', OCTOBER - 1, NANO_PER_USD, chat(9, 9))
  await charge('fast', OCTOBER, NANO_PER_USD, chat(300, 30))
  await charge('faster', OCTOBER + 1_000, NANO_PER_USD, chat(100, 10))
  await charge('other', OCTOBER + 1_000, NANO_PER_USD, chat(7, 7))
  // The totals contain earlier charges, but not the following ones.
  await addToTotals(db)
  await charge('fast', OCTOBER + 2_000, NANO_PER_USD / 2, null)
  const messages = {
    input_tokens: 100,
    cache_creation_input_tokens: 23,
    cache_read_input_tokens: 4_000,
    output_tokens: 50,
  }
  await charge('slow', OCTOBER + 4 * DAY_MS, NANO_PER_USD, messages)
  await charge('slow', NOVEMBER, NANO_PER_USD, messages)
  return db
}

for (const kind of databaseKinds) {
  test(`differences are listed by day and model on ${kind}`, async () => {
    const db = await openCharges(kind)
    const period = { since: OCTOBER, until: NOVEMBER, tolerance: 0 }
    const ofChat = {
      ...period,
      vendorNames: new Map([
        ['fast', 'gpt-x'],
        ['faster', 'gpt-x'],
      ]),
    }
    const used = await reconcile(db, readVendorUsage(usageExport), ofChat)
    // One charge was counted by the gateway; the requests are as many.
    expect(used).toMatchObject({
      differences: [],
      compared: 3,
      withoutFigures: 1,
      vendor: { requests: 3, inputTokens: 400, outputTokens: 40 },
      charged: { requests: 3, inputTokens: 400, outputTokens: 40, costNano: 2.5 * NANO_PER_USD },
    })
    // The vendor asks for 2.00 of what 2.50 was charged for.
    expect((await reconcile(db, readVendorUsage(costExport), ofChat)).differences).toEqual([])
    const dearer = readVendorUsage(costExport.replace('0.8958740000000000', '1.4958740000000000'))
    const place = { day: '2026-10-01', model: 'gpt-x' }
    expect((await reconcile(db, dearer, ofChat)).differences).toEqual([
      { ...place, figure: 'costNano', vendor: 2_600_000_000, charged: 2_500_000_000 },
    ])
    expect((await reconcile(db, dearer, { ...ofChat, tolerance: 0.05 })).differences).toEqual([])

    const ofMessages = { ...period, vendorNames: new Map([['slow', 'claude-y']]) }
    const said = readVendorUsage(messagesExport)
    expect((await reconcile(db, said, ofMessages)).differences).toEqual([])
    // A day that one side has alone.
    const moved = said.map((row) => ({ ...row, day: '2026-10-06' }))
    expect((await reconcile(db, moved, ofMessages)).differences).toEqual([
      { day: '2026-10-05', model: 'claude-y', figure: 'inputTokens', vendor: 0, charged: 4_123 },
      { day: '2026-10-05', model: 'claude-y', figure: 'outputTokens', vendor: 0, charged: 50 },
      { day: '2026-10-06', model: 'claude-y', figure: 'inputTokens', vendor: 4_123, charged: 0 },
      { day: '2026-10-06', model: 'claude-y', figure: 'outputTokens', vendor: 50, charged: 0 },
    ])
    await db.close()
  })
}

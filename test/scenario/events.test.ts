// Events for operators: each condition is reported once when it begins and once when it ends, by one of several nodes, and a
// recurring condition does not cause a flood; each kind of channel is tested with a real server.

import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook as Verifier } from 'standardwebhooks'
import { createKey, unlimited } from '../../src/accounts/keys'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { outside, randomBytes } from '../../src/app/world'
import { addCredit } from '../../src/billing/ledger/ledger'
import { type EventsEntry, eventSettingsOf } from '../../src/config/events'
import { faultsOf } from '../../src/config/schema'
import { type EventBody, eventTypes } from '../../src/contract/events'
import type { Model } from '../../src/contract/family'
import { apply, type Db } from '../../src/db/db'
import { Notices } from '../../src/events/notices'
import { sendEvent } from '../../src/events/send'
import { watchEvents } from '../../src/events/watch'
import { NANO_PER_USD } from '../../src/lib/money'
import { Receivers } from '../../src/webhooks/receivers'
import { bodyOfWebhook, insertEvent, listEvents } from '../../src/webhooks/rows'
import {
  type DatabaseKind,
  databaseKinds,
  openTestDatabase,
  temporaryFolder,
} from '../support/databases/databases'
import { startTestGateway, waitFor } from '../support/gateway'
import { freePort } from '../support/processes/free-port'
import { rejection } from '../support/rejection'
import { AUTHORITY_FILE, MAIL_PASSWORD, MAIL_USER, startMailServer } from '../support/servers/mail-server'
import { HERE, openSending, openSite, SECRET, START } from '../support/servers/webhook-sending'
import { completion } from '../support/vendors/vendor'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const BEAT = 20 * SECOND

const plans = { team: { budget: { usd: '20', per: 'day' as const } } }
const OPS = { webhook: 'http://127.0.0.1:1/', secret: SECRET }

/** Nodes that check one database in turn, with a clock that tests set and vendors that fail on command. */
async function openWatch(
  kind: DatabaseKind,
  events: EventsEntry,
  nodes = 1,
  models: ReadonlyMap<string, Model[]> = new Map(),
) {
  const db = await openTestDatabase(kind)
  const clock = { now: START }
  const breakers = { vendor: 'closed' as 'closed' | 'open' }
  let ids = 0
  const worlds = Array.from({ length: nodes }, () => ({
    db,
    config: { upstreams: {}, models: {}, events, plans, backup: { every: '1h', folder: temporaryFolder() } },
    catalogue: {
      upstreams: new Map([
        ['vendor', { health: () => ({ breaker: breakers.vendor, running: 0, concurrency: 1 }) }],
      ]),
      models,
    },
    notices: new Notices(),
    now: () => clock.now,
    newId: (prefix: string) => `${prefix}_${String(++ids).padStart(6, '0')}`,
  }))
  async function pass(ms: number) {
    for (const end = clock.now + ms; clock.now < end; ) {
      clock.now = Math.min(end, clock.now + BEAT)
      await Promise.all(worlds.map(watchEvents))
    }
  }
  return {
    db,
    world: worlds[0] as (typeof worlds)[number],
    clock,
    breakers,
    log: worlds.map(({ notices }) => notices.noticing(() => {})),
    /** Lets time pass while all nodes check, at the same moment. */
    pass,
    /** Lets a long time pass during which no node checks. */
    async leap(ms: number) {
      clock.now += ms
      await pass(5 * MINUTE)
    },
    /** The subjects of the newest event of a type, with their figures. */
    async lastItems(type: string) {
      const bodies = (await listEvents(db, { limit: 1_000 })).map(
        (row) => JSON.parse(bodyOfWebhook(db, row)) as EventBody,
      )
      return bodies.find((body) => body.type === type)?.data.items
    },
    /** All events, in order: who received what about whom. */
    async reported() {
      const rows = (await listEvents(db, { limit: 1_000 })).reverse()
      return rows.map((row) => {
        const { type, data } = JSON.parse(bodyOfWebhook(db, row)) as EventBody
        return `${row.recipient}: ${type} ${data.state} ${data.items.map(({ subject }) => subject).join(' ')}`
      })
    },
  }
}

const credit = (db: Db, account: string, usd: number) =>
  addCredit(db, {
    id: `credit_${crypto.randomUUID()}`,
    account,
    amountNano: usd * NANO_PER_USD,
    now: START,
    note: null,
  })
const setBalance = (db: Db, account: string, usd: number) =>
  apply(db, [
    { sql: 'update accounts set balance = $2 where name = $1', parameters: [account, usd * NANO_PER_USD] },
  ])
const makeNamedKey = (db: Db, name: string, more: Partial<typeof unlimited> = {}) =>
  createKey(db, {
    id: `key_${name}`,
    name,
    account: name,
    secret: `sk-${name}`,
    webhookSecret: SECRET,
    createdAt: START,
    ...unlimited,
    ...more,
  })

for (const kind of databaseKinds) {
  describe(`on ${kind}`, () => {
    test('a model that is used and ends is reported 30 days, 7 days and one day before, once each', async () => {
      const ending = (id: string) => [
        id,
        [{ id, retirement: { at: START + 40 * DAY, knownAt: START, handsOver: false } }],
      ]
      const models = new Map([ending('used'), ending('unused')] as never) as ReadonlyMap<string, Model[]>
      const { db, clock, leap, reported, lastItems } = await openWatch(kind, { to: { ops: OPS } }, 3, models)
      await apply(db, [
        {
          sql: `insert into charge_series (id, account, key_id, model, operation) values (1, 'alice', 'k', 'used', 'chat')`,
        },
      ])
      /** Twelve requests of a day that is a while before. */
      const use = () =>
        apply(db, [
          {
            sql: `insert into usage_totals (span, start, series, requests, released, counted, estimated, amount, shortfall, first_position, last_position)
              values ($1, $2, 1, 12, 0, 0, 0, 0, 0, 1, 1)`,
            parameters: [DAY, clock.now - (clock.now % DAY)],
          },
        ])
      await use()
      await leap(5 * DAY)
      expect(await reported()).toEqual([])
      await leap(6 * DAY)
      expect(await reported()).toEqual(['ops: model.retiring began used, 30 days'])
      expect(await lastItems('model.retiring')).toMatchObject([
        {
          model: 'used',
          successor: null,
          requests_30d: 12,
          retires_at: new Date(START + 40 * DAY).toISOString(),
        },
      ])
      await use()
      await leap(3 * DAY)
      expect(await reported()).toHaveLength(1)
      await leap(20 * DAY)
      await leap(5 * DAY + 12 * HOUR)
      expect(await reported()).toEqual([
        'ops: model.retiring began used, 30 days',
        'ops: model.retiring began used, 7 days',
        'ops: model.retiring began used, 1 day',
      ])
      await leap(10 * DAY)
      expect(await reported()).toHaveLength(3)
    })

    test('a price that drifts is reported once per model and day by one of three nodes, whatever their clocks say', async () => {
      const { log, clock, pass, leap, reported, lastItems } = await openWatch(kind, { to: { ops: OPS } }, 3)
      const drift = (node: number, model: string, day: string, vendorUsd: string) =>
        log[node]?.('price_drift', {
          ...{ model, day, upstream: 'router', request: `req_${node}`, basis: 'cost', percent: '+10.00' },
          ...{ list_usd: '0.01', vendor_usd: vendorUsd },
        })
      drift(0, 'fast', '2026-11-22', '0.011')
      drift(1, 'fast', '2026-11-22', '0.011')
      drift(2, 'slow', '2026-11-22', '0.011')
      await pass(MINUTE)
      expect((await reported()).sort()).toEqual(['ops: price.drift began fast, 2026-11-22 slow, 2026-11-22'])
      // A node that was restarted, and one whose clock is an hour behind, after a day.
      await leap(12 * HOUR)
      drift(2, 'fast', '2026-11-22', '0.012')
      await leap(12 * HOUR)
      drift(0, 'fast', '2026-11-22', '0.012')
      drift(1, 'fast', '2026-11-23', '0.013')
      await pass(HOUR)
      await leap(3 * DAY)
      expect((await reported()).slice(1)).toEqual(['ops: price.drift began fast, 2026-11-23'])
      expect(await lastItems('price.drift')).toMatchObject([{ model: 'fast', vendor_usd: '0.013' }])
      expect(clock.now).toBeGreaterThan(START + 4 * DAY)
    })

    test('a line of the log that the database could not store is stored at the next check', async () => {
      const { db, world, log, pass, reported } = await openWatch(kind, { to: { ops: OPS } })
      log[0]?.('payment_not_credited', { payment: 'cs_1', reason: 'there is no account "gone"' })
      log[0]?.('payment_not_credited', { payment: 'cs_2', reason: 'an old reason' })
      // The table is missing during one check.
      await apply(db, [{ sql: 'alter table event_conditions rename to conditions_away' }])
      await rejection(watchEvents(world))
      await apply(db, [{ sql: 'alter table conditions_away rename to event_conditions' }])
      log[0]?.('payment_credited', { payment: 'cs_2' })
      await pass(MINUTE)
      expect(await reported()).toEqual(['ops: payment.not_credited began cs_1'])
      await db.close()
    })

    test('a low balance is reported once by one of three nodes, again each day, and once when it ends', async () => {
      const { db, pass, leap, reported, lastItems } = await openWatch(
        kind,
        { to: { ops: OPS }, lowBalanceUsd: '5', lowBalanceUsdOf: { poorer: '6' } },
        3,
      )
      await makeNamedKey(db, 'new')
      for (const [account, usd] of [
        ['rich', 50],
        ['poor', 4],
        ['poorer', 1],
      ] as const)
        await credit(db, account, usd)
      await pass(10 * MINUTE)
      expect(await reported()).toEqual(['ops: balance.low began poor poorer'])
      await leap(DAY)
      expect((await reported()).slice(1)).toEqual(['ops: balance.low continues poor poorer'])
      await credit(db, 'poor', 1)
      await pass(5 * MINUTE)
      expect((await reported()).slice(2)).toEqual(['ops: balance.low ended poor'])
      // The end has the figure of the end.
      expect(await lastItems('balance.low')).toMatchObject([
        { subject: 'poor', account: 'poor', balance_usd: '5.00', threshold_usd: '5.00' },
      ])
      await leap(DAY)
      expect((await reported()).slice(3)).toEqual(['ops: balance.low continues poorer'])
      await db.close()
    })

    test('each recipient gets the events and accounts that it subscribed to, with its own thresholds', async () => {
      const { db, pass, reported } = await openWatch(kind, {
        to: { ops: { ...OPS, events: ['balance.low'] }, alice: { ...OPS, accounts: ['alice'] } },
        lowBalanceUsdOf: { alice: '50' },
      })
      await credit(db, 'alice', 40)
      await credit(db, 'bob', 40)
      await makeNamedKey(db, 'alice', { expiresAt: START + 3 * DAY })
      await pass(2 * MINUTE)
      expect(await reported()).toEqual([
        'ops: balance.low began alice',
        'alice: balance.low began alice',
        'alice: key.expiring began alice',
      ])
      const events = await listEvents(db, { recipient: 'ops', limit: 9 })
      const body = JSON.parse(bodyOfWebhook(db, events[0] as (typeof events)[0])) as EventBody
      expect(body).toMatchObject({
        id: events[0]?.id,
        data: {
          items: [{ subject: 'alice', account: 'alice', balance_usd: '40.00', threshold_usd: '50.00' }],
        },
      })
      await db.close()
    })

    test('used-up budgets, shortfalls and failed webhooks are found in the database', async () => {
      const { db, leap, pass, reported, lastItems } = await openWatch(kind, { to: { ops: OPS } })
      const budget = { budgetNano: 10 * NANO_PER_USD, budgetPeriod: 'day' } as const
      await makeNamedKey(db, 'spender', budget)
      await makeNamedKey(db, 'saver', budget)
      const committed = (key: string, usd: number) => ({
        sql: 'insert into budgets (key_id, period, committed) values ($1, $2, $3)',
        parameters: [key, '2026-01-02', usd * NANO_PER_USD],
      })
      await apply(db, [
        committed('key_spender', 9),
        committed('key_saver', 8.9),
        committed('account:own', 4.5),
        committed('account:member', 18),
        committed('account:frugal', 17),
        {
          sql: `insert into account_details (name, plan, account_budget, account_budget_period) values
            ('own', 'team', 5000000000, 'day'), ('member', 'team', null, null), ('frugal', 'team', null, null)`,
        },
        {
          sql: `insert into statements (number, account, month, issued_at, content, hash)
            values (7, 'member', '2025-12', $1, '', '')`,
          parameters: [START],
        },
        {
          sql: `insert into charge_series (id, account, key_id, model, operation) values (1, 'short', 'k', 'm', 'chat')`,
        },
        {
          sql: `insert into usage_totals (span, start, series, requests, released, counted, estimated, amount, shortfall,
            first_position, last_position) values (3600000, $1, 1, 1, 0, 0, 0, 5, 7000, 1, 1)`,
          parameters: [START - (START % HOUR)],
        },
        {
          sql: `insert into webhooks (id, task, account, key_id, url, host, body, state, attempts, step, next_at,
            lease_until, fence, created_at, ended_at) values ('msg', 't', 'deaf', 'k', '', '', '', 'failed', 9, 9, 0, 0, 0, 0, $1)`,
          parameters: [START],
        },
      ])
      await pass(2 * MINUTE)
      expect(await reported()).toEqual([
        'ops: account_budget.reached began member own',
        'ops: budget.reached began spender',
        'ops: shortfall began short',
        'ops: statement.issued began 7',
        'ops: webhook.failed began deaf',
      ])
      // The next day has a budget of its own; that the others are over is not news.
      await leap(DAY)
      expect((await reported()).slice(5)).toEqual([
        'ops: account_budget.reached ended member own',
        'ops: budget.reached ended spender',
      ])
      expect(await lastItems('budget.reached')).toMatchObject([
        { subject: 'spender', key_id: 'key_spender', used_usd: '0.00', budget_usd: '10.00' },
      ])
      expect(await lastItems('account_budget.reached')).toMatchObject([
        { subject: 'member', used_usd: '0.00', budget_usd: '20.00' },
        { subject: 'own', used_usd: '0.00', budget_usd: '5.00' },
      ])
      await db.close()
    })

    test('a vendor that is down is reported after a minute, and a flapping one does not cause a flood', async () => {
      const { db, breakers, pass, reported } = await openWatch(
        kind,
        { to: { ops: OPS }, repeatEvery: '2d' },
        2,
      )
      breakers.vendor = 'open'
      await pass(BEAT)
      breakers.vendor = 'closed'
      await pass(HOUR)
      expect(await reported()).toEqual([])
      breakers.vendor = 'open'
      await pass(10 * MINUTE)
      expect(await reported()).toEqual(['ops: upstream.down began vendor'])
      breakers.vendor = 'closed'
      await pass(5 * MINUTE)
      expect((await reported()).slice(1)).toEqual(['ops: upstream.down ended vendor'])
      // Six minutes down and six up, for hours: the required quiet time before an end doubles until the changes are one condition.
      for (let round = 0; round < 14; round++) {
        breakers.vendor = round % 2 === 0 ? 'open' : 'closed'
        await pass(6 * MINUTE)
      }
      expect((await reported()).length - 2).toBeLessThanOrEqual(5)
      breakers.vendor = 'closed'
      await pass(2 * HOUR)
      expect((await reported()).at(-1)).toBe('ops: upstream.down ended vendor')
      await db.close()
    }, 120_000)

    test('important log lines are reported: about backups, the configuration and refusals by vendors', async () => {
      const { db, log, pass, reported, lastItems } = await openWatch(kind, { to: { ops: OPS } }, 2)
      const [one, other] = log as [(typeof log)[0], (typeof log)[0]]
      one('backup_failed', { name: 'a', reason: 'disk full' })
      other('config_not_reloaded', { cause: 'signal', faults: ['models.x: missing'] })
      other('upstream_refused_operator', { upstream: 'vendor', status: 401, code: null, message: 'bad key' })
      await pass(HOUR)
      const first = await reported()
      // Both check at the same moment: either may be the first to report.
      expect(first.slice(0, 3).sort()).toEqual([
        'ops: backup.failed began backup',
        'ops: configuration.refused began configuration',
        'ops: upstream.refused began vendor',
      ])
      expect(first.slice(3)).toEqual(['ops: upstream.refused ended vendor'])
      other('backup_made', { name: 'b', bytes: 7 })
      other('config_reloaded', { cause: 'signal' })
      await pass(HOUR)
      expect((await reported()).slice(4).sort()).toEqual([
        'ops: backup.failed ended backup',
        'ops: configuration.refused ended configuration',
      ])
      const [ended] = (await lastItems('backup.failed')) ?? []
      expect(ended).toMatchObject({ subject: 'backup', name: 'b', bytes: 7 })
      expect(ended).not.toHaveProperty('reason')
      one('payment_not_credited', { payment: 'cs_1', reason: 'there is no account "gone"' })
      await pass(MINUTE)
      expect(await lastItems('payment.not_credited')).toMatchObject([
        { subject: 'cs_1', reason: 'there is no account "gone"' },
      ])
      other('charge_not_ended', { request: 'req_1', error: 'the disk is full' })
      await pass(MINUTE)
      expect(await lastItems('charge.failed')).toMatchObject([
        { subject: 'charges', request: 'req_1', error: 'the disk is full' },
      ])
      await db.close()
    })

    test('a late backup is reported until the next one is made', async () => {
      const { db, clock, pass, reported, lastItems } = await openWatch(kind, { to: { ops: OPS } })
      await pass(3 * HOUR)
      // No backup exists yet: a server that has just started is not late.
      expect(await reported()).toEqual([])
      const made = (at: number) => ({
        sql: `insert into times (name, at, reference) values ('backup', $1, $1)
          on conflict (name) do update set reference = excluded.reference`,
        parameters: [at],
      })
      await db.batch([made(clock.now)])
      await pass(2 * HOUR)
      expect(await reported()).toEqual([])
      await pass(HOUR)
      expect(await reported()).toEqual(['ops: backup.late began backup'])
      const newest = new Date(clock.now).toISOString()
      await db.batch([made(clock.now)])
      await pass(HOUR)
      expect((await reported()).slice(1)).toEqual(['ops: backup.late ended backup'])
      expect(await lastItems('backup.late')).toMatchObject([{ newest_at: newest }])
      await db.close()
    })

    test('conditions reported before a restart are not reported again after it', async () => {
      const events = { to: { ops: OPS }, lowBalanceUsd: '5' }
      const { db, clock, pass, reported } = await openWatch(kind, events)
      await credit(db, 'poor', 4)
      await pass(MINUTE)
      clock.now += HOUR
      await pass(10 * MINUTE)
      expect(await reported()).toEqual(['ops: balance.low began poor'])
      await setBalance(db, 'poor', 50)
      await pass(MINUTE)
      await setBalance(db, 'poor', 4)
      // It had ended for too short a time to be reported.
      await pass(HOUR)
      expect(await reported()).toEqual(['ops: balance.low began poor'])
      await db.close()
    })

    test('events are sent like webhooks: with the same id and signed, until the receiver accepts them', async () => {
      using site = openSite((_delivered, count) => new Response('no', { status: count === 1 ? 500 : 200 }))
      const url = `http://127.0.0.1:${site.port}/canary-of-the-address`
      const settings = eventSettingsOf({ to: { ops: { webhook: url, secret: SECRET } } })
      const sending = await openSending(kind, {
        sendEvent: (event, world, signal) => sendEvent(settings, event, world, signal),
      })
      const { db, clock } = sending
      const body = JSON.stringify({
        id: 'evt_1',
        type: 'test',
        timestamp: '',
        data: { state: 'began', items: [] },
      })
      await apply(db, [
        insertEvent(db, { id: 'evt_1', recipient: 'ops', body }, clock.now),
        insertEvent(db, { id: 'evt_2', recipient: 'gone', body }, clock.now),
      ])
      await sending.deliver()
      clock.now += 5 * SECOND
      await sending.deliver()
      const [gone, ops] = await listEvents(db, { limit: 9 })
      expect(ops).toMatchObject({ state: 'delivered', attempts: 2, lastStatus: 200 })
      expect(gone).toMatchObject({ state: 'pending', attempts: 2, lastStatus: null })
      expect(gone?.lastAnswer).toContain('The recipient gone is no longer')
      const headers = site.received.map(({ headers: sent }) => sent)
      expect(headers.map((sent) => sent['webhook-id'])).toEqual(['evt_1', 'evt_1'])
      expect(site.received[1]?.body).toBe(body)
      expect(headers[1]?.['webhook-timestamp']).toBe(String(Math.floor(clock.now / SECOND)))
      const rows = await db.query({ sql: 'select url, host from webhooks' })
      expect(JSON.stringify([rows, sending.log])).not.toContain('canary')
      await sending.close()
    })
  })
}

const world = (allow = [HERE]) => ({ allow, lookup: async () => ['127.0.0.1'] })

/** One attempt to send an event of a low balance. */
async function sendTo(
  to: EventsEntry['to'][string],
  smtp?: EventsEntry['smtp'],
  timeoutMs = 5_000,
  allow = [HERE],
) {
  const receivers = new Receivers(outside.transport)
  const items = [{ subject: 'a<b', account: 'a<b', since: '', balance_usd: '1.00', threshold_usd: '5.00' }]
  const body: EventBody = { id: 'evt_7', type: 'balance.low', timestamp: '', data: { state: 'began', items } }
  try {
    return await sendEvent(
      eventSettingsOf({ to: { ops: to }, ...(smtp && { smtp }) }),
      { id: 'evt_7', recipient: 'ops', body: JSON.stringify(body), at: Date.now() },
      { receivers, addressRules: world(allow) },
      AbortSignal.timeout(timeoutMs),
    )
  } finally {
    receivers.close()
  }
}

const mailbox = { email: ['ada@example.com', 'ops@example.com'] }
const smtpTo = (port: number, more: Partial<NonNullable<EventsEntry['smtp']>> = {}) => ({
  host: '127.0.0.1',
  port,
  from: 'gateway@example.com',
  caFile: AUTHORITY_FILE,
  user: MAIL_USER,
  password: MAIL_PASSWORD,
  ...more,
})

describe('a recipient', () => {
  test('with a webhook can verify it, and is distinguished from one in a private network', async () => {
    using site = openSite()
    const url = `http://127.0.0.1:${site.port}/`
    expect(await sendTo({ webhook: url, secret: SECRET })).toMatchObject({ status: 200 })
    const { body, headers } = site.received[0] ?? { body: '', headers: {} }
    expect(new Verifier(SECRET).verify(body, headers)).toMatchObject({ id: 'evt_7', type: 'balance.low' })
    const refused = await sendTo({ webhook: url, secret: SECRET }, undefined, 5_000, [])
    expect(refused).toMatchObject({ status: null, text: expect.stringContaining('The address') })
    expect(site.received).toHaveLength(1)
  })

  test('with a chat gets one escaped text', async () => {
    using site = openSite()
    expect(await sendTo({ slack: `http://127.0.0.1:${site.port}/services/T/B` })).toMatchObject({
      status: 200,
    })
    expect(JSON.parse(site.received[0]?.body ?? '')).toEqual({
      text: 'Account a&lt;b has $1.00, less than $5.00.',
    })
    expect(site.received[0]?.headers['webhook-signature']).toBeUndefined()
  })

  test('with mailboxes gets a message over STARTTLS and with a sign-in, and the same id each time', async () => {
    await using mail = await startMailServer()
    for (let time = 0; time < 2; time++)
      expect(await sendTo(mailbox, smtpTo(mail.port))).toMatchObject({ status: 250 })
    expect(mail.received).toHaveLength(2)
    for (const { text, ...envelope } of mail.received) {
      expect(envelope).toEqual({
        from: 'gateway@example.com',
        to: ['ada@example.com', 'ops@example.com'],
        secure: true,
        user: MAIL_USER,
      })
      expect(text).toContain('Message-ID: <evt_7@example.com>')
      expect(text).toContain('Subject: [gateway] Account a<b has $1.00, less than $5.00.')
      expect(text).toMatch(/auto-submitted: auto-generated/i)
    }
  })

  test('with mailboxes gets a message over a connection encrypted from the start, or none', async () => {
    await using encrypted = await startMailServer({ secure: true })
    expect(await sendTo(mailbox, smtpTo(encrypted.port, { security: 'tls' }))).toMatchObject({ status: 250 })
    await using plain = await startMailServer({ hideSTARTTLS: true, allowInsecureAuth: true })
    const { user: _user, password: _password, ...nobody } = smtpTo(plain.port)
    expect(await sendTo(mailbox, { ...nobody, security: 'none' })).toMatchObject({ status: 250 })
    expect(plain.received[0]).toMatchObject({ secure: false, user: undefined })
  })

  test('is not sent through a server that does not encrypt or has no trusted certificate', async () => {
    await using plain = await startMailServer({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true })
    const refused = await sendTo(mailbox, smtpTo(plain.port))
    expect(refused).toMatchObject({ status: 500, text: expect.stringContaining('STARTTLS') })
    await using stranger = await startMailServer()
    const { caFile: _caFile, ...unknown } = smtpTo(stranger.port)
    expect((await sendTo(mailbox, unknown)).status).toBeNull()
    expect([...plain.received, ...stranger.received]).toEqual([])
  })

  test('fails if the server refuses it, and the error does not show the password', async () => {
    await using mail = await startMailServer({
      onRcptTo: (_address, _session, done) =>
        done(Object.assign(new Error('No such user'), { responseCode: 550 })),
    })
    expect(await sendTo(mailbox, smtpTo(mail.port))).toMatchObject({ status: 550 })
    const refused = await sendTo(mailbox, smtpTo(mail.port, { user: MAIL_PASSWORD.slice(1) }))
    expect(refused.status).toBe(535)
    expect(refused.text).not.toContain(MAIL_PASSWORD)
    expect(mail.received).toEqual([])
  })

  test('to a server that is down or silent takes no longer than one attempt', async () => {
    const { port } = await startMailServer().then(async (mail) => {
      await mail[Symbol.asyncDispose]()
      return mail
    })
    expect(await sendTo(mailbox, smtpTo(port))).toMatchObject({ status: null })
    await using slow = await startMailServer({ onConnect: () => {} })
    const answer = await sendTo(mailbox, smtpTo(slow.port), 300)
    expect(answer).toMatchObject({ status: null, text: expect.stringContaining('No message was sent') })
  })
})

test('the configuration of each channel is checked: its secret and its requirements', () => {
  const faults = (events: unknown) => faultsOf({ upstreams: {}, models: {}, events })
  const email = ['a@b.example']
  expect(faults({ to: { a: OPS, b: { slack: 'https://x.example/y' } } })).toEqual([])
  expect(faults({ to: { a: { email } }, smtp: { host: 'm', from: 'a@b.example' } })).toEqual([])
  expect(
    faults({
      to: {
        none: {},
        two: { ...OPS, slack: 'https://x.example' },
        unsigned: { webhook: 'https://x.example' },
        short: { ...OPS, secret: 'whsec_YWJj' },
        mailless: { email },
      },
      lowBalanceUsd: 'five',
      repeatEvery: '1s',
    }),
  ).toEqual([
    'events.to.none: give one of webhook, slack and email',
    'events.to.two: give one of webhook, slack and email',
    'events.to.unsigned.secret: give `whsec_` and 24 to 64 bytes in base64',
    'events.to.short.secret: give `whsec_` and 24 to 64 bytes in base64',
    'events.to.mailless.email: needs events.smtp',
    'events.lowBalanceUsd: "five" is not an amount of dollars, such as "5" or "0.50"',
    'events.repeatEvery: "1s" is not a duration of a minute or more, such as "12h"',
  ])
  expect(faults({ to: { a: { ...OPS, events: ['nonsense'] } } })).toHaveLength(1)
  expect(faults({ to: { a: { email: ['x@y.example\r\nBcc: z@y.example'] } } }).length).toBeGreaterThan(0)
})

test('the page of events lists each type, and says whether its end is reported', () => {
  const page = readFileSync(join(import.meta.dir, '../../docs/operate/events.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `([a-z_.]+)` .*\| (yes|no) +\|$/gm)].map(([, name, end]) => [name, end])
  const expected = Object.entries(eventTypes).map(([name, { notifiesEnd }]) => [
    name,
    notifiesEnd ? 'yes' : 'no',
  ])
  expect(rows.sort()).toEqual(expected.sort())
})

test('a balance that requests have used up is reported to the mailbox', async () => {
  await using mail = await startMailServer()
  let ahead = 0
  const gateway = await startTestGateway({
    balance: '1',
    outside: { now: () => Date.now() + ahead },
    config: { events: { to: { ops: mailbox }, smtp: smtpTo(mail.port), lowBalanceUsd: '1' } },
  })
  expect((await gateway.chat()).status).toBe(200)
  await waitFor(async () => {
    ahead += 5 * SECOND
    await watchEvents(gateway.server.world)
    return mail.received.length > 0
  })
  expect(mail.received[0]?.text).toContain('Account alice has $0.999')
  expect(JSON.stringify(gateway.log)).not.toContain(MAIL_PASSWORD)
  await gateway.close()
})

test('a backup that finds wrong books is reported to the mailbox, with the fault and the remedy', async () => {
  await using mail = await startMailServer()
  let ahead = 0
  const gateway = await startTestGateway({
    balance: '1',
    outside: { now: () => Date.now() + ahead },
    config: {
      events: { to: { ops: mailbox }, smtp: smtpTo(mail.port) },
      backup: { folder: temporaryFolder() },
    },
  })
  const { world } = gateway.server
  const token = makeToken(randomBytes)
  await createAdmin(world.db, {
    id: 'adm_1',
    name: 'ada',
    role: 'owner',
    token,
    expiresAt: null,
    createdAt: 1,
  })
  const backUp = () =>
    fetch(`${gateway.url}/admin/v1/backups`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
  const shift = (nano: number) =>
    apply(world.db, [
      { sql: `update accounts set balance = balance + $1 where name = 'alice'`, parameters: [nano] },
    ])
  const reported = async () => {
    ahead += 5 * SECOND
    await watchEvents(world)
    const sent = await listEvents(world.db, { limit: 10 })
    return sent.length
  }
  expect((await backUp()).status).toBe(200)
  expect(await reported()).toBe(0)
  // As a manual change in the database would leave them.
  await shift(1)
  expect((await backUp()).status).toBe(200)
  await waitFor(async () => (await reported()) > 0 && mail.received.length > 0)
  // Without the line breaks of its transfer encoding.
  const letter = mail.received[0]?.text.replaceAll('=\r\n', '') ?? ''
  expect(letter).toContain(
    'account alice: balance 1000000001 differs from its ledger 1000000000. Stop selling',
  )
  expect(letter).toContain('gateway balance verify')
  // The backup exists nevertheless, and is checked.
  expect(gateway.log.filter(({ event }) => event === 'backup_made')).toHaveLength(2)
  await shift(-1)
  await gateway.close()
})

test('a vendor that requests do not reach is reported until they do', async () => {
  const port = await freePort()
  let ahead = 0
  const gateway = await startTestGateway({
    outside: { now: () => Date.now() + ahead },
    upstreams: { away: { kind: 'openai', baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'sk-vendor' } },
    models: { away: { family: 'openai-chat', upstream: 'away', free: true } },
    config: { events: { to: { ops: OPS } } },
  })
  const ask = async () => (await gateway.chat({ model: 'away' })).status
  const { world } = gateway.server
  const reported = async () => {
    ahead += 15 * SECOND
    await watchEvents(world)
    const rows = (await listEvents(world.db, { limit: 10 })).reverse()
    return rows.map((row) => {
      const { type, data } = JSON.parse(bodyOfWebhook(world.db, row)) as EventBody
      return `${type} ${data.state} ${data.items[0]?.subject}`
    })
  }
  await waitFor(async () => {
    await ask()
    return world.catalogue.upstreams.get('away')?.health().breaker === 'open'
  })
  await waitFor(async () => (await reported()).includes('upstream.down began away'))
  using _vendor = Bun.serve({
    hostname: '127.0.0.1',
    port,
    fetch: () => Response.json(completion('Hi', 10, 20)),
  })
  await waitFor(async () => (await ask()) === 200)
  await waitFor(async () => (await reported()).includes('upstream.down ended away'))
  await gateway.close()
})

// Every command, and its entry in the audit trail: a command that changes something has one with its author, a command that only
// reads has none. A new command needs a row here.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { Glob } from 'bun'
import { userName } from '../../cli/process/system-user'
import { type AnyCommand, metaOf, namesOfParts, partOf } from '../../cli/view/help'
import { findKey } from '../../src/accounts/keys'
import { makeSessionToken, openSession, subjectOfRole } from '../../src/accounts/sessions'
import { createToken } from '../../src/accounts/spenders'
import { randomBytes } from '../../src/app/world'
import { addCredit, hold, settle } from '../../src/billing/ledger/ledger'
import { apply } from '../../src/db/db'
import { openAddress } from '../support/databases/databases'
import { makeCharge, makeSettlement, makeSpender } from '../support/databases/ledger-rows'
import { makeOneApi } from '../support/databases/other-gateways'
import { followTask, fund, sendTask } from '../support/databases/task-rows'
import { openCommandShell } from '../support/processes/command-shell'
import { install } from '../support/processes/executable'

setDefaultTimeout(240_000)

/** The effect of a command, with its line if it is run here. */
type Row =
  | { reads: string }
  /** A line, the action of its entry, and its target if that matters. `ID` stands for the output of the previous line. */
  | { line: string; writes: string; target?: string }
  /** Tried in another file, which names the action. */
  | { in: string; writes: string }
  /** Why it cannot touch the database of a gateway. */
  | { apart: string }

/** In this order: each uses what the previous one made. */
const rows: Record<string, Row> = {
  'keys create': { line: 'keys create ann', writes: 'key.create', target: 'key:ann' },
  'keys list': { reads: 'keys list' },
  'keys show': { reads: 'keys show ann' },
  'keys update': { line: 'keys update ann --rpm 5', writes: 'key.update' },
  'keys pause': { line: 'keys pause ann', writes: 'key.pause' },
  'keys resume': { line: 'keys resume ann', writes: 'key.resume' },
  'keys roll': { line: 'keys roll ann', writes: 'key.roll' },
  'keys roll-webhook': { line: 'keys roll-webhook ann', writes: 'key.roll_webhook' },
  'keys revoke': { line: 'keys revoke ann', writes: 'key.revoke' },
  'spenders list': { reads: 'spenders list --key alice' },
  'spenders show': { reads: 'spenders show tok_known' },
  'spenders update': { line: 'spenders update tok_known --rpm 5', writes: 'spender.update' },
  'spenders revoke': { line: 'spenders revoke tok_known', writes: 'token.revoke', target: 'key:alice' },
  'spenders forget': { line: 'spenders forget tok_known', writes: 'spender.forget' },
  'accounts list': { reads: 'accounts list' },
  'accounts show': { reads: 'accounts show ann' },
  'accounts update': { line: 'accounts update ann --note new', writes: 'account.update' },
  'accounts freeze': { line: 'accounts freeze ann', writes: 'account.freeze' },
  'accounts unfreeze': { line: 'accounts unfreeze ann', writes: 'account.unfreeze' },
  'balance show': { reads: 'balance show' },
  'balance add': { line: 'balance add ann 5', writes: 'account.credit', target: 'account:ann' },
  'balance adjust': { line: 'balance adjust ann --note gift -- 5', writes: 'account.adjust' },
  'balance ledger': { reads: 'balance ledger ann' },
  'balance verify': { line: 'balance verify', writes: 'balance.verify', target: 'books' },
  'codes create': { line: 'codes create --amount 1', writes: 'codes.create' },
  'codes list': { reads: 'codes list' },
  'codes revoke': { line: 'codes revoke ID', writes: 'code.revoke' },
  'admins create': { line: 'admins create ada --role viewer', writes: 'admin.create' },
  'admins list': { reads: 'admins list' },
  'admins revoke': { line: 'admins revoke ada', writes: 'admin.revoke', target: 'admin:ada' },
  'sessions list': { reads: 'sessions list' },
  'sessions revoke': { line: 'sessions revoke ses_known', writes: 'session.revoke' },
  console: { line: 'console', writes: 'console.link', target: 'admin:owner' },
  audit: { reads: 'audit' },
  'statements issue': { line: 'statements issue --month 2024-02', writes: 'statement.issue' },
  'statements list': { reads: 'statements list' },
  'statements show': { reads: 'statements show 1' },
  'statements verify': { reads: 'statements verify' },
  'receipts key': { reads: 'receipts key' },
  'receipts rotate': { line: 'receipts rotate', writes: 'receipts.rotate', target: 'receipts' },
  'receipts verify': { apart: 'it works on files' },
  'retention show': { reads: 'retention show' },
  'retention apply': {
    line: 'retention apply --charges 12mo',
    writes: 'retention.close',
    target: 'retention',
  },
  usage: { reads: 'usage' },
  rehearse: { reads: 'rehearse --since 7d' },
  reconcile: { reads: 'reconcile --upstream openai --file usage.csv --month 2026-01' },
  'requests list': { reads: 'requests list' },
  'requests show': { reads: 'requests show req_none' },
  'requests tail': { apart: 'it runs until it is stopped; it reads what requests list reads' },
  'tasks list': { reads: 'tasks list' },
  'tasks show': { reads: 'tasks show video_followed' },
  'tasks watch': { apart: 'it runs until the task has ended; it reads what tasks show reads' },
  'tasks cancel': { line: 'tasks cancel video_followed', writes: 'task.cancel' },
  'tasks reconcile': { line: 'tasks reconcile video_sent --not-begun', writes: 'task.reconcile' },
  'tasks redeliver': { line: 'tasks redeliver video_sent', writes: 'task.redeliver' },
  'events list': { reads: 'events list' },
  'events conditions': { reads: 'events conditions' },
  'events test': { line: 'events test nobody', writes: 'event.test', target: 'recipient:nobody' },
  'events redeliver': { in: 'contract/admin-api.test.ts', writes: 'event.redeliver' },
  'plans list': { reads: 'plans list' },
  'plans show': { reads: 'plans show none' },
  'models list': { reads: 'models list' },
  'models price': { reads: 'models price test-chat --input-tokens 1000' },
  'drill begin': {
    line: 'drill begin --upstream openai --status 503 --for 1m --key ann',
    writes: 'drill.begin',
    target: 'upstream:openai',
  },
  'drill list': { reads: 'drill list' },
  'drill show': { reads: 'drill show ID' },
  'drill stop': { line: 'drill stop ID', writes: 'drill.stop', target: 'upstream:openai' },
  'upstreams list': { reads: 'upstreams list' },
  'upstreams test': { reads: 'upstreams test openai' },
  'upstreams health': { reads: 'upstreams health' },
  'upstreams refusals': { reads: 'upstreams refusals' },
  'import one-api': { line: 'import one-api THEIRS --yes', writes: 'import.run', target: 'import:one-api' },
  'import new-api': { reads: 'import new-api THEIRS' },
  'import litellm': { reads: 'import litellm --models nowhere.yaml' },
  backup: { line: 'backup copy.zst', writes: 'backup.make', target: 'backup:copy.zst' },
  restore: { in: 'cli/backup.test.ts', writes: 'backup.restore' },
  upgrade: { in: 'cli/upgrade.test.ts', writes: 'database.upgrade' },
  move: { in: 'cli/backup.test.ts', writes: 'database.move' },
  'config check': { reads: 'config check' },
  'config diff': { reads: 'config diff' },
  'config print': { apart: 'it prints what is built in' },
  'config reload': { in: 'cli/reload.test.ts', writes: 'configuration.reload' },
  restart: { in: 'cli/restart.test.ts', writes: 'gateway.restart' },
  serve: { apart: 'it is the gateway' },
  doctor: { reads: 'doctor' },
  health: { reads: 'health' },
  env: { reads: 'env codex' },
  'prices fetch': { apart: 'it writes a file next to the configuration' },
  'prices update': { apart: 'it writes a file in the data directory' },
  init: { apart: 'it writes a configuration' },
  completions: { apart: 'it prints a script' },
  'contexts login': { apart: 'a file of the person who types' },
  'contexts add': { apart: 'a file of the person who types' },
  'contexts list': { apart: 'a file of the person who types' },
  'contexts use': { apart: 'a file of the person who types' },
  'contexts remove': { apart: 'a file of the person who types' },
  'accounts close': { line: 'accounts close ann --yes', writes: 'account.close' },
}

test('every command has exactly one row', async () => {
  const found: string[] = []
  const folder = join(import.meta.dir, '../../cli/commands')
  for (const file of new Glob('*.ts').scanSync(folder)) {
    for (const part of Object.values(await import(join(folder, file)))) {
      const command = part as AnyCommand
      if (command.meta) found.push(...(await commandsOf(command, metaOf(command).name ?? '')))
    }
  }
  expect(found.toSorted()).toEqual(Object.keys(rows).toSorted())
})

test('exactly the commands that change something are in the trail, with their author', async () => {
  const installation = await install({
    config: { events: { to: { nobody: { slack: 'http://127.0.0.1:1/' } } } },
  })
  const { configFile, dataDir } = installation
  const folder = dirname(configFile)
  const settings = ['--config', configFile, '--data-dir', dataDir]
  const shell = openCommandShell(folder, { PATH: process.env.PATH, HOME: folder })
  const theirs = await makeOneApi('sqlite', 'one-api', 'http://127.0.0.1:1')
  // Makes the database.
  await shell.run(['keys', 'create', 'alice', ...settings])
  await fill(join(dataDir, 'gateway.sqlite'))
  const entries = () => installation.rows('select * from audit_trail order by id')
  const actor = `cli:${userName()}@${hostname()}`
  const wrong: object[] = []
  let printed = ''
  for (const row of Object.values(rows)) {
    const line = 'reads' in row ? row.reads : 'line' in row ? row.line : undefined
    if (line === undefined) continue
    // The path of a folder for temporary files may have an ID in it too.
    const words = line.split(' ').map((word) => (word === 'THEIRS' ? theirs : word.replace('ID', printed)))
    const end = words.indexOf('--')
    const before = (await entries()).length
    const ran = await shell.run(words.toSpliced(end === -1 ? words.length : end, 0, ...settings))
    if ('line' in row) printed = ran.stdout.trim()
    const [first, ...more] = (await entries()).slice(before)
    const expected =
      'line' in row ? { actor, action: row.writes, target: row.target ?? first?.target } : undefined
    const found = first && { actor: first.actor, action: first.action, target: first.target }
    // The command may find nothing, or reach nobody, but it must have tried.
    if (ran.code > 1 || more.length > 0 || !Bun.deepEquals(found, expected))
      wrong.push({ line, ...ran, found, more })
  }
  expect(wrong).toEqual([])
  const changes = (await shell.run(['audit', ...settings])).stdout
  for (const change of ['note: null -> "new"', 'requests_per_minute: null -> 5', 'status: "active" before'])
    expect(changes).toContain(change)
  await shell.end()
})

test('commands tested elsewhere are named there', () => {
  for (const row of Object.values(rows))
    if ('in' in row) {
      const text = readFileSync(join(import.meta.dir, '..', row.in), 'utf8')
      expect({ ...row, isNamed: text.includes(`'${row.writes}'`) }).toEqual({ ...row, isNamed: true })
    }
})

async function commandsOf(command: AnyCommand, path: string): Promise<string[]> {
  const names = namesOfParts(command)
  if (names.length === 0) return [path]
  const parts = names.map(async (name) =>
    commandsOf((await partOf(command, name)) as AnyCommand, `${path} ${name}`),
  )
  return (await Promise.all(parts)).flat()
}

/** Old charges, two tasks, a signed-in person, and a token. */
async function fill(file: string): Promise<void> {
  const db = openAddress(file)
  const first = Date.UTC(2024, 0, 5)
  await addCredit(db, { id: 'paid', account: 'alice', amountNano: 1_000_000_000, now: first, note: null })
  for (const month of [0, 1]) {
    const at = Date.UTC(2024, month, 10, 12)
    const charge = makeCharge(50_000_000, { id: `charge-of-${month}`, model: 'test-chat', createdAt: at })
    await hold(db, charge)
    await settle(db, charge, makeSettlement(50_000_000, { endedAt: at }))
  }
  const now = Date.now()
  await fund(db, 'tasks', 10_000_000_000, now)
  const task = { account: 'tasks', createdAt: now, webhookUrl: 'http://127.0.0.1:1/' }
  await followTask(db, { ...task, id: 'video_followed' })
  await sendTask(db, { ...task, id: 'video_sent' })
  const session = { id: 'ses_known', token: makeSessionToken(randomBytes), kind: 'admin' as const }
  const times = { now, idleMs: 3_600_000, maxMs: 3_600_000, clientAddress: null, userAgent: null }
  await apply(db, openSession({ ...session, ...times, subject: subjectOfRole('owner') }))
  const alice = await findKey(db, 'alice')
  const token = makeSpender({ id: 'tok_known', keyId: alice?.id ?? '' })
  expect(await createToken(db, { ...token, kind: 'browser', hash: 'hash' })).toBe(true)
  await db.close()
}

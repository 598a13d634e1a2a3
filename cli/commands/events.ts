// gateway events: current conditions, sent notifications of operators, and a test of the recipients. An address or a secret of a
// recipient must never be shown.

import { defineCommand } from 'citty'
import type { ReplyOf } from '../../src/admin/client'
import { newId, outside } from '../../src/app/world'
import { eventSettingsOf } from '../../src/config/events'
import type { Config } from '../../src/config/schema'
import { sendEvent, testEvent } from '../../src/events/send'
import { textOfEvent } from '../../src/events/text'
import { Receivers } from '../../src/webhooks/receivers'
import { DELIVERY_STATES } from '../../src/webhooks/rows'
import { dataDirOf, loadConfig, type SettingsFlags } from '../configuration/settings'
import { auditCommand } from '../lib/actor'
import { CommandFailed } from '../lib/errors'
import { type Gateway, gatewayCommand, remoteGateway } from '../lib/gateway'
import { gatewayArgs, remoteOf } from '../lib/remote'
import { limitArg, parseLimit, parseWord } from '../lib/values'
import { print, printJson, say } from '../view/output'
import { printTable } from '../view/table'
import { shortTime } from '../view/times'

const DEFAULT_LIMIT = 50
const TEST_TIMEOUT_MS = 20_000
/** How often to check whether a remote gateway has sent a test, in milliseconds. */
const CHECK_MS = 500
/** Events of a recipient that are searched for a test. */
const NEWEST = 20
const NO_EVENTS = 'The configuration has no `events`: no notifications are sent.'

const list = gatewayCommand({
  name: 'list',
  description: 'Show events that were sent in the last 30 days, newest first.',
  examples: ['gateway events list', 'gateway events list --delivery failed --json | jq -r .[].last_answer'],
  args: {
    to: { type: 'string', valueHint: 'NAME', description: 'Only those for this recipient' },
    delivery: {
      type: 'string',
      valueHint: DELIVERY_STATES.join('|'),
      description: 'Only those with this delivery state',
    },
    limit: limitArg(DEFAULT_LIMIT),
  },
  run(args) {
    const limit = parseLimit(args, DEFAULT_LIMIT)
    const state =
      args.delivery === undefined ? undefined : parseWord('delivery', args.delivery, DELIVERY_STATES)
    return async (gateway) => {
      const query = { delivery: state, recipient: args.to }
      const events = await gateway.rows('listEvents', { query }, limit)
      if (args.json) return printJson(events)
      if (events.length === 0) return say('There are no such events.')
      printTable(events, [
        ['TIME (UTC)', ({ created_at }) => shortTime(Date.parse(created_at))],
        [
          'EVENT',
          ({ type, state: which, items }) =>
            `${type} ${items.length === 1 ? items[0]?.subject : items.length} ${which}`,
          { flexible: true },
        ],
        ['TO', ({ recipient }) => recipient ?? '', { flexible: true }],
        ['DELIVERY', ({ delivery }) => delivery],
        ['LAST ANSWER', ({ last_answer }) => last_answer?.replaceAll(/\s+/g, ' ') ?? '', { flexible: true }],
        ['ID', ({ id }) => id, { isId: true }],
      ])
    }
  },
})

const conditions = gatewayCommand({
  name: 'conditions',
  description: 'Show current conditions: low balances, vendors that are down, failing backups.',
  examples: ['gateway events conditions'],
  run: (args) => async (gateway) => {
    const { data: lasting } = await gateway.call('listConditions')
    if (args.json) return printJson(lasting)
    if (gateway.local && !gateway.local.config.events) say(NO_EVENTS)
    if (lasting.length === 0) return say('There is nothing to report.')
    printTable(lasting, [
      ['SINCE (UTC)', ({ since }) => shortTime(Date.parse(since))],
      ['EVENT', ({ type }) => type],
      ['IN WORDS', wordsOf, { flexible: true }],
    ])
  },
})

function wordsOf({ since, type, subject, account, details }: ReplyOf<'listConditions'>['data'][number]) {
  const item = { subject, ...(account !== null && { account }), since, ...details }
  const body = { id: '', type, timestamp: since, data: { state: 'began' as const, items: [item] } }
  return textOfEvent(body).lines[0] ?? ''
}

const test = defineCommand({
  meta: {
    name: 'test',
    description: 'Send a test to one recipient or all, and show their answers.',
    examples: ['gateway events test', 'gateway events test ops'],
  },
  args: {
    recipient: {
      type: 'positional',
      required: false,
      description: 'The name of the recipient in events.to (default: all)',
    },
    ...gatewayArgs,
  },
  async run({ args }) {
    const remote = remoteOf(args)
    const results = remote
      ? await tryThere(remoteGateway(remote, args), args.recipient)
      : await tryHere(args, args.recipient)
    if (args.json) printJson(results)
    else
      printTable(results, [
        ['TO', ({ recipient }) => recipient, { flexible: true }],
        ['RESULT', ({ ok }) => (ok ? 'sent' : 'not sent')],
        ['ANSWER', ({ answer }) => answer.replaceAll(/\s+/g, ' '), { flexible: true }],
      ])
    if (results.some(({ ok }) => !ok)) process.exitCode = 1
  },
})

/** Sends from this machine, according to its configuration. */
async function tryHere(flags: SettingsFlags, recipient: string | undefined) {
  const { config } = await loadConfig(flags)
  const names = recipientsOf(config, recipient)
  const results = await Promise.all(names.map((name) => tryOne(config, name)))
  const entries = results.map(({ recipient, ok, status }) => ({
    action: 'event.test',
    target: `recipient:${recipient}`,
    after: { ok, status },
  }))
  await auditCommand(config, dataDirOf(flags), ...entries)
  return results
}

/** Makes a remote gateway send, in the way it sends its notifications. */
async function tryThere(gateway: Gateway, recipient: string | undefined) {
  // The command shows only the name of a recipient.
  const config = (await gateway.call('getConfiguration')) as Pick<Config, 'events'>
  const names = recipientsOf(config, recipient)
  return Promise.all(names.map((name) => followTest(gateway, name)))
}

async function followTest(gateway: Gateway, recipient: string) {
  const { id } = await gateway.call('testEvent', { body: { recipient } })
  for (const until = Date.now() + TEST_TIMEOUT_MS; Date.now() < until; await Bun.sleep(CHECK_MS)) {
    const newest = await gateway.rows('listEvents', { query: { recipient } }, NEWEST)
    const { last_status: status = null, last_answer: text = null } =
      newest.find((each) => each.id === id) ?? {}
    if (status === null && text === null) continue
    return { recipient, ok: isTaken(status), status, answer: answerOf(status, text ?? '') }
  }
  const answer = `The gateway has not sent it within ${TEST_TIMEOUT_MS / 1000} seconds: it keeps trying.`
  return { recipient, ok: false, status: null, answer }
}

function isTaken(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300
}

/** An answer preceded by its status; mail servers do that themselves. */
function answerOf(status: number | null, text: string): string {
  return status === null || text.includes(String(status)) ? text : `${status} ${text}`.trim()
}

function recipientsOf({ events }: Pick<Config, 'events'>, name: string | undefined): string[] {
  if (!events) throw new CommandFailed(`${NO_EVENTS} docs/operate/events.md says how to set them up.`)
  const names = Object.keys(events.to)
  if (name === undefined) return names
  if (names.includes(name)) return [name]
  throw new CommandFailed(`There is no recipient "${name}" in events.to. There are: ${names.join(', ')}.`)
}

async function tryOne(config: Config, recipient: string) {
  const receivers = new Receivers(outside.transport)
  const id = newId('evt')
  const at = Date.now()
  try {
    const { status, text } = await sendEvent(
      eventSettingsOf(config.events ?? { to: {} }),
      { id, recipient, body: JSON.stringify(testEvent(id, at)), at },
      { receivers, addressRules: { allow: config.webhooks?.allow ?? [], lookup: outside.lookup } },
      AbortSignal.timeout(TEST_TIMEOUT_MS),
    )
    return { recipient, ok: isTaken(status), status, answer: answerOf(status, text) }
  } finally {
    receivers.close()
  }
}

const redeliver = gatewayCommand({
  name: 'redeliver',
  description: 'Send an event again, with the same id, from the start of its schedule.',
  examples: ['gateway events redeliver evt_01a1…'],
  args: {
    id: { type: 'positional', required: true, description: 'The event' },
  },
  run: (args) => async (gateway) => {
    await gateway.call('redeliverEvent', { params: { event: args.id } })
    if (args.json) return printJson({ id: args.id })
    print(`${args.id} is sent again when a server runs.`)
  },
})

export const events = defineCommand({
  meta: { name: 'events', description: 'Show and test operator notifications by webhook, chat or mail.' },
  subCommands: { list, conditions, test, redeliver },
})

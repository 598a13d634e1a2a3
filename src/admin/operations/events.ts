// Events over the admin API: current conditions, sent notifications, and a test of each recipient. An address or a secret of a
// recipient must never be shown.

import { Type } from '@sinclair/typebox'
import { Nullable, OneOf, open } from '../../api-operation/operation'
import { activeConditions } from '../../events/conditions'
import { conditionJson, eventJson } from '../../events/event-json'
import { testEvent } from '../../events/send'
import { notFound } from '../../lib/errors'
import { DELIVERY_STATES, insertEvent, listEvents, redeliverEvent } from '../../webhooks/rows'
import {
  changing,
  closedBody,
  limitOf,
  operationsIn,
  optionalText,
  PageOf,
  pageOf,
  pageQuery,
  Text,
} from '../operation'

const operation = operationsIn('Events')
const MAX_CONDITIONS = 1_000
/** Events that are read for one page about an account, which are found by their contents. */
const MAX_READ = 200

const conditions = operation({
  id: 'listConditions',
  endpoint: 'GET /conditions',
  role: 'viewer',
  summary: 'Conditions',
  description:
    'Those that last now and are reported to operators, oldest first; none without `events` in the configuration.',
  reply: Type.Object(
    { data: Type.Array(Type.Object({ type: Type.String(), subject: Type.String() }, open)) },
    open,
  ),
  async run({ world }) {
    const rows = await activeConditions(world.db, world.now(), MAX_CONDITIONS)
    return { data: rows.map(conditionJson) }
  },
})

const list = operation({
  id: 'listEvents',
  endpoint: 'GET /events',
  role: 'viewer',
  summary: 'Events',
  description: 'Those that were sent, newest first, with the state of their delivery.',
  query: Type.Object({
    delivery: Type.Optional(OneOf(DELIVERY_STATES, 'Only those with this delivery state.')),
    recipient: optionalText('Only those for this recipient.'),
    account: optionalText('Only those about this account. A page can have fewer rows than there are.'),
    ...pageQuery,
  }),
  reply: PageOf(
    Type.Object(
      {
        id: Type.String(),
        type: Type.String(),
        recipient: Type.String(),
        delivery: Type.String(),
        last_answer: Nullable(Type.String()),
      },
      open,
    ),
  ),
  async run({ world }, query) {
    const limit = limitOf(query)
    const { delivery: state, recipient, account, after } = query
    const read = account === undefined ? limit : MAX_READ
    const rows = await listEvents(world.db, { state, recipient, after, limit: read + 1 })
    const { data, next } = pageOf(
      rows,
      read,
      (row) => eventJson(world.db, row),
      ({ id }) => id,
    )
    if (account === undefined) return { data, next }
    const own = data.filter(({ items }) => items.some((item) => item.account === account))
    return { data: own.slice(0, limit), next: own.length > limit ? (own[limit - 1]?.id ?? null) : next }
  },
})

const test = operation({
  id: 'testEvent',
  endpoint: 'POST /events/test',
  role: 'operator',
  summary: 'Test a recipient',
  description: 'Sends it a test event; `listEvents` shows how it fared.',
  body: Type.Object({ recipient: Text('The name of the recipient in `events.to`.') }, closedBody),
  reply: Type.Object({ id: Type.String(), recipient: Type.String() }, open),
  async run(context, _query, { recipient }) {
    const { world } = context
    const to = world.config.events?.to ?? {}
    if (!Object.hasOwn(to, recipient)) throw notFound('recipient', recipient)
    const id = world.newId('evt')
    const now = world.now()
    const db = changing(context, { action: 'event.test', target: `recipient:${recipient}` })
    await db.batch([insertEvent(db, { id, recipient, body: JSON.stringify(testEvent(id, now)) }, now)])
    return { id, recipient }
  },
})

const redeliver = operation({
  id: 'redeliverEvent',
  endpoint: 'POST /events/{event}/redeliver',
  role: 'operator',
  summary: 'Send an event again',
  description: 'With the same id, from the start of its schedule.',
  reply: Type.Object({ id: Type.String() }, open),
  async run(context) {
    const id = context.params.event ?? ''
    const db = changing(context, { action: 'event.redeliver', target: `event:${id.slice(0, 64)}` })
    if (await redeliverEvent(db, id)) return { id }
    throw notFound('event', id)
  },
})

export const eventOperations = [conditions, list, test, redeliver]

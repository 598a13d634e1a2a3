// An event in words, for mail and chat. Pure: the sender escapes it for its format.

import { type EventBody, type EventItem, type EventName, eventTypes, TEST_EVENT } from '../contract/events'

export interface EventText {
  /** One line. */
  title: string
  /** One line for each subject. */
  lines: string[]
}

type Words = (item: EventItem) => string

/** Begins and ends of each type, as sentences. */
const sentences: Readonly<Record<EventName, { on: Words; over: Words }>> = {
  'balance.low': {
    on: ({ subject, balance_usd, threshold_usd }) =>
      `Account ${subject} has $${balance_usd}, less than $${threshold_usd}.`,
    over: ({ subject, balance_usd }) =>
      `Account ${subject} has enough again${figure(balance_usd, `: $${balance_usd}`)}.`,
  },
  'budget.reached': {
    on: ({ subject, used_usd, budget_usd, budget_period }) =>
      `Key ${subject} has used $${used_usd} of its $${budget_usd} a ${budget_period}.`,
    over: ({ subject, used_usd, budget_usd, budget_period }) =>
      `Key ${subject} has budget again${figure(used_usd, `: $${used_usd} used of $${budget_usd} a ${budget_period}`)}.`,
  },
  'account_budget.reached': {
    on: ({ subject, used_usd, budget_usd, budget_period }) =>
      `Account ${subject} has used $${used_usd} of its $${budget_usd} a ${budget_period}.`,
    over: ({ subject, used_usd, budget_usd, budget_period }) =>
      `Account ${subject} has budget again${figure(used_usd, `: $${used_usd} used of $${budget_usd} a ${budget_period}`)}.`,
  },
  'key.expiring': {
    on: ({ subject, account, expires_at }) => `Key ${subject} of ${account} expires at ${expires_at}.`,
    over: ({ subject }) => `Key ${subject} does not expire soon any more.`,
  },
  shortfall: {
    on: ({ subject, shortfall_usd }) =>
      `Requests of account ${subject} cost $${shortfall_usd} more than it had, which the gateway paid.`,
    over: ({ subject }) => `Account ${subject} has paid all of its last requests.`,
  },
  'upstream.down': {
    on: ({ subject }) => `Upstream ${subject} does not answer.`,
    over: ({ subject }) => `Upstream ${subject} answers again.`,
  },
  'upstream.refused': {
    on: ({ subject, status, message }) =>
      `Upstream ${subject} refuses the operator's account: ${message ?? 'no reason given'} (${status}).`,
    over: ({ subject }) => `Upstream ${subject} no longer refuses the operator's account.`,
  },
  'backup.failed': {
    on: ({ reason }) => `A backup could not be made: ${reason}.`,
    over: ({ name }) => `A backup was made again${figure(name, `: ${name}`)}.`,
  },
  'backup.late': {
    on: ({ newest_at }) => `The newest backup is of ${newest_at}.`,
    over: ({ newest_at }) => `There is a new backup, of ${newest_at}.`,
  },
  'books.wrong': {
    on: ({ problems }) =>
      `The books do not add up: ${listed(problems)}. Stop selling, keep a copy of the database, and run gateway balance verify.`,
    over: () => 'The books add up.',
  },
  'charge.failed': {
    on: ({ request, error }) =>
      `The answer to ${request} could not be charged: ${error}. See gateway requests show and gateway doctor.`,
    over: () => 'Answers are charged again.',
  },
  'configuration.refused': {
    on: ({ faults }) => `The changed configuration is not in force: ${listed(faults)}`,
    over: () => 'The configuration of the file is in force.',
  },
  'model.retiring': {
    on: ({ model, retires_at, successor, requests_30d }) =>
      `Model ${model} ends at its vendor at ${retires_at}${figure(successor ?? undefined, `, and ${successor} takes its place`)}. Requests in the last 30 days: ${requests_30d}.`,
    over: ({ model }) => `Model ${model} has ended.`,
  },
  'payment.not_credited': {
    on: ({ subject, reason }) => `The payment ${subject} was made, and could not be credited: ${reason}.`,
    over: ({ subject }) => `The payment ${subject} was credited.`,
  },
  'price.drift': {
    on: ({ model, upstream, request, list_usd, vendor_usd, percent, basis }) =>
      `${upstream} charges $${vendor_usd} for a request of ${model}; by our ${basis} it is $${list_usd} (${percent} %): ${request}. See gateway reconcile --own; then gateway prices update, or set the ${basis} in the configuration.`,
    over: ({ model }) => `The price of ${model} has not differed for a day.`,
  },
  'statement.issued': {
    on: ({ subject, account, month }) =>
      `Statement ${subject} of account ${account} for ${month} was issued.`,
    over: ({ subject }) => `Statement ${subject} was issued a while ago.`,
  },
  'usage.above_quote': {
    on: ({
      subject,
      upstream,
      request,
      input_tokens: input,
      quoted_input_tokens: most,
      output_tokens: output,
    }) =>
      `The upstream ${upstream} counted more for ${subject} than a request could use: ${input} input tokens of at most ${most}, and ${output} output tokens, for ${request}. It was charged. See gateway requests show.`,
    over: ({ subject }) => `No request of ${subject} was counted above its quote in the last hour.`,
  },
  'webhook.failed': {
    on: ({ subject, webhooks }) =>
      `Webhooks of account ${subject} were given up in the last hour: ${webhooks}.`,
    over: ({ subject }) => `No webhook of account ${subject} was given up in the last hour.`,
  },
}

/** Maximum number of subjects that are written out; a webhook has all. */
const MAX_LINES = 50

export function textOfEvent({ type, data: { state, items } }: EventBody): EventText {
  if (type === TEST_EVENT)
    return { title: 'Test of events', lines: ['Events of this gateway arrive here. Nothing has happened.'] }
  const { on, over } = sentences[type]
  const say = state === 'ended' ? over : on
  const still = state === 'continues' ? ' (still)' : ''
  const all = items.map((item) => say(item) + still)
  const lines = all.slice(0, MAX_LINES)
  if (all.length > MAX_LINES) lines.push(`And ${all.length - MAX_LINES} more.`)
  const [only] = all
  if (all.length === 1 && only !== undefined) return { title: firstLineOf(only), lines }
  const prefix = state === 'ended' ? 'Over: ' : ''
  return { title: `${prefix}${type} (${all.length}). ${eventTypes[type].meaning.replaceAll('`', '')}`, lines }
}

/** Words about a figure; empty if an end no longer has this figure. */
function figure(value: unknown, words: string): string {
  return value === undefined ? '' : words
}

function listed(value: unknown): string {
  return Array.isArray(value) ? value.join('; ') : String(value ?? '')
}

const MAX_TITLE_LENGTH = 150

function firstLineOf(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > MAX_TITLE_LENGTH ? `${line.slice(0, MAX_TITLE_LENGTH - 1)}…` : line
}

// Shows requests: a table of many, a block of lines for one.

import type { ReplyOf } from '../../src/admin/client'
import { formatUsd } from '../../src/lib/money'
import type { KeptBodies } from '../../src/request-log/bodies'
import { parsedJson } from '../../src/request-log/request-json'
import { endedInError } from '../../src/request-log/row'
import { onOneLine, paint } from './output'
import { type Column, type Entry, renderBlock, renderTable, wordsWidth } from './table'
import { taskLine } from './task'
import { shortTime, utcTime } from './times'

/** Zero dollars, in the form of answers. */
const NOTHING = formatUsd(0)

type RequestReply = ReplyOf<'listRequests'>['data'][number]
type DetailsReply = ReplyOf<'getRequest'>

export function requestTable(rows: readonly RequestReply[]): string {
  const cells = rows.map((row) => [row.id, ...cellsOf(row)])
  // Error codes are shown so that they can be looked up.
  const widthMin = wordsWidth(cells.map((row) => row.at(-1) ?? ''))
  const columns: Column[] = [
    { title: 'REQUEST', isId: true },
    { title: 'TIME (UTC)' },
    { title: 'KEY', flexible: true },
    { title: 'STATUS' },
    { title: 'TOKENS', align: 'right', optional: true },
    { title: 'PAID', align: 'decimal' },
    { title: 'TOOK', align: 'right', optional: true },
    { title: 'MODEL AND ERROR', flexible: true, widthMin },
  ]
  return renderTable(columns, cells)
}

/** A request on one line, for an endless list. */
export function requestLine(row: RequestReply): string {
  const [time, key, status, tokens, paid, took, model] = cellsOf(row)
  const words = [time, status, took, key, model, tokens && `${tokens} tokens`, paid && `$${paid}`, row.id]
  return onOneLine(words.filter(Boolean).join('  '))
}

function cellsOf(row: RequestReply): string[] {
  const status = String(row.status)
  return [
    // The year is omitted: the newest requests are rarely from another one.
    shortTime(Date.parse(row.at)).slice(5),
    row.key ?? '-',
    isFailed(row) ? paint('red', status) : status,
    tokensOf(row),
    row.amount_usd ?? '',
    `${row.duration_ms} ms`,
    [row.model ?? row.asked_model, row.error_code].filter((text) => text !== null).join(' '),
  ]
}

function isFailed(row: RequestReply): boolean {
  return endedInError(Number(row.status), row.error_code)
}

function tokensOf({ input_tokens: input, output_tokens: output }: RequestReply): string {
  return input === null ? '' : `${input}+${output ?? 0}`
}

export function detailsBlock(details: DetailsReply): string {
  const { id, request, charges, archive, archive_month: month, task, webhook } = details
  const entries: Entry[] = [['request', id, 'whole']]
  if (request) entries.push(...rowEntries(request), ...attemptEntries(request), ...timeEntries(request))
  else entries.push(['row', 'not in the log, or no longer'])
  for (const charge of charges) entries.push(...chargeEntries(charge))
  if (archive !== null) entries.push(['money', `charges of ${month} are closed, in ${archive}`])
  else if (charges.length === 0) entries.push(['money', 'nothing was held'])
  if (task) entries.push(['task', `${task.id}: ${taskLine(task)}`, 'whole'])
  if (webhook) entries.push(['webhook', `${webhook.url}: ${webhook.state}`, 'whole'])
  const block = renderBlock(entries)
  return details.explanation === null ? block : `${onOneLine(details.explanation)}\n\n${block}`
}

/** Bodies for people: JSON is formatted. They are indented, so that none of their lines looks like one of ours. */
export function bodiesText({ request, answer }: KeptBodies): string {
  const shown = (text: string | null) => {
    const json = parsedJson(text)
    const isLaidOut = typeof json === 'object' && json !== null
    return (isLaidOut ? JSON.stringify(json, null, 2) : (text ?? '(nothing)')).replaceAll(/^/gm, '  ')
  }
  return `\n${paint('dim', 'request')}\n${shown(request)}\n\n${paint('dim', 'answer')}\n${shown(answer)}`
}

function rowEntries(row: RequestReply): Entry[] {
  const shown = paint(isFailed(row) ? 'red' : 'green', String(row.status))
  const caller = [
    row.account === null ? 'not known' : `account ${row.account}`,
    row.key_id === null ? undefined : `key ${row.key ?? row.key_id}`,
    row.spender_id === null ? undefined : `spender ${row.spender ?? row.spender_id}`,
    row.client_address === null ? undefined : `from ${row.client_address}`,
  ]
  const entries: Entry[] = [
    ['arrived', utcTime(Date.parse(row.at))],
    [
      'status',
      [shown, row.error_code, row.ended_by && `ended by ${row.ended_by}`].filter(Boolean).join(', '),
    ],
    ...failureEntries(row),
    ['caller', caller.filter(Boolean).join(', ')],
    ['asked', [row.operation, requestedName(row), row.stream && 'as a stream'].filter(Boolean).join(', ')],
  ]
  if (row.upstream !== null) {
    const answer = row.upstream_request_id === null ? '' : `, its id ${row.upstream_request_id}`
    entries.push(['upstream', `${row.upstream}${answer}`, 'whole'])
  }
  entries.push(...choiceEntries(row))
  if (row.cache !== null) entries.push(['cache', row.cache, 'whole'])
  const tokens = tokensOf(row)
  if (tokens) entries.push(['tokens', `${tokens.replace('+', ' in, ')} out`])
  return entries
}

/** The error message, the field, and who caused it. */
function failureEntries(row: RequestReply): Entry[] {
  const { error_message: message, error_param: field, failed_by: party, vendor_status: status } = row
  const entries: Entry[] = []
  if (message) entries.push(['reason', message])
  if (field) entries.push(['field', field])
  if (party) entries.push(['caused by', status === null ? party : `${party}, with status ${status}`])
  return entries
}

/** The requested model and, if it differs, the model that answered or was tried last. */
function requestedName({ asked_model: asked, model }: RequestReply): string | null {
  if (asked === null || model === null) return asked ?? model
  return `${asked}, served by ${model}`
}

/** The session of a request, the key that was used, and why that key was chosen. */
function choiceEntries({ session, upstream_key: key, resting_keys: resting }: RequestReply): Entry[] {
  const entries: Entry[] = []
  if (session) entries.push(['session', `${session.hash}, named by ${session.by}`])
  if (key === null) return entries
  const usual = session ? 'the key of its session' : 'in turn, without a session'
  const keys =
    resting.length === 1
      ? `key ${resting[0]}, which was resting`
      : `keys ${resting.join(', ')}, which were resting`
  const why = resting.length === 0 ? usual : `instead of ${keys}`
  return [...entries, ['key', `${key}: ${why}`]]
}

function attemptEntries({ attempts, passed_over: passedOver, route_order: order }: RequestReply): Entry[] {
  const skipped = passedOver.map(
    ({ model, upstream, reason, detail }, index): Entry => [
      index === 0 ? 'passed over' : '',
      `${model} on ${upstream}: ${reason}, ${detail}`,
    ],
  )
  const placed = (order?.models ?? []).map(
    ({ model, upstream, reason, detail }, index): Entry => [
      index === 0 ? (order?.prefer.replace('_', ' ') ?? '') : '',
      `${index + 1}. ${model} on ${upstream}: ${reason}, ${detail}`,
    ],
  )
  const failed = attempts.map((attempt, index): Entry => {
    const { model, upstream, status, error, durationMs, requestId, keyNumber, costUsd } = attempt
    const key = keyNumber ? ` with key ${keyNumber}` : ''
    const id = requestId ? `, its id ${requestId}` : ''
    const cost = costUsd === undefined ? '' : `, cost $${costUsd}`
    return [
      index === 0 ? 'before' : '',
      `${model} on ${upstream}${key}: ${status} ${error} after ${durationMs} ms${id}${cost}`,
    ]
  })
  return [...skipped, ...placed, ...failed]
}

function timeEntries(row: RequestReply): Entry[] {
  const times = [
    row.sent_ms !== null && `sent after ${row.sent_ms} ms`,
    row.first_byte_ms !== null && `first byte after ${row.first_byte_ms} ms`,
    `ended after ${row.duration_ms} ms`,
    row.upstream_ms !== null && `upstream ${row.upstream_ms} ms`,
  ]
  return [['times', times.filter(Boolean).join(', ')]]
}

const SOURCES: Readonly<Record<string, string>> = {
  upstream: "the vendor's usage",
  upstream_above_quote: "the vendor's usage, above the quote",
}

function chargeEntries(charge: DetailsReply['charges'][number]): Entry[] {
  const { state, held_usd: held, amount_usd: amount, shortfall_usd: shortfall } = charge
  const { cost_usd: cost, margin_usd: margin, usage_source: source, usage, lines } = charge
  const { vendor_cost_usd: named, list_cost_usd: listed, vendor_percent: percent } = charge
  const paid = {
    held: `$${held} held`,
    settled: `$${amount} paid of $${held} held`,
    released: `nothing paid, $${held} released`,
  }[state]
  const lost = shortfall === NOTHING ? '' : `, $${shortfall} could not be paid`
  const by = source === null ? '' : `, by ${SOURCES[source] ?? `usage ${source}`}`
  const entries: Entry[] = [['money', `${paid}${lost}${by}`]]
  if (cost !== null) entries.push(['cost', `$${cost}, margin $${margin}`])
  if (named !== null) {
    const ours = listed === null ? '' : `; by our list $${listed}, so ${percent} %`
    entries.push(['vendor', `$${named} by its own figure${ours}`])
  }
  if (charge.metadata !== null) entries.push(['metadata', JSON.stringify(charge.metadata)])
  for (const [index, line] of (lines ?? []).entries())
    entries.push([index === 0 ? 'price' : '', lineText(line), 'whole'])
  if (usage !== null) entries.push(['usage', JSON.stringify(usage)])
  return entries
}

type Line = NonNullable<DetailsReply['charges'][number]['lines']>[number]

const OTHER_LINES = {
  minimum: 'up to the minimum charge',
  cache: 'answered from the response cache, not charged',
  rounding: 'rounded up to a whole nano-dollar',
  hold: 'above what was held, not charged',
  shortfall: 'could not be paid',
} as const

/** A line of a price: `412 input tokens x $0.25 per 1M = $0.000103`. */
function lineText(line: Line): string {
  if (line.kind !== 'quantity') return `${OTHER_LINES[line.kind]}: $${line.amount_usd}`
  const { count, unit, price_usd: price, per, amount_usd: amount } = line
  return `${count} ${unit} x $${price}${per && ` per ${per}`} = $${amount}`
}

// Shows requests: a table of many, a block of lines for one.

import type { ChargeView } from '../../src/billing/usage-report'
import { formatUsd } from '../../src/lib/money'
import type { KeptBodies } from '../../src/request-log/bodies'
import type { RequestDetails } from '../../src/request-log/look-up'
import { type NameOf, parsedJson, usdOf } from '../../src/request-log/request-json'
import type { LoggedRequest } from '../../src/request-log/row'
import { paint } from './output'
import { type Column, type Entry, renderBlock, renderTable } from './table'
import { taskLine } from './task'
import { shortTime, utcTime } from './times'

export function requestTable(rows: readonly LoggedRequest[], nameOf: NameOf): string {
  const columns: Column[] = [
    { title: 'TIME (UTC)' },
    { title: 'KEY', flexible: true },
    { title: 'STATUS' },
    { title: 'TOKENS', align: 'right', optional: true },
    { title: 'PAID', align: 'decimal' },
    { title: 'TOOK', align: 'right' },
    { title: 'MODEL AND ERROR', flexible: true },
  ]
  // Ids are long: they are what `show` takes, so they stand where there is room.
  const isWide = (process.stdout.columns ?? 0) >= 140 || !process.stdout.isTTY
  const withIds: Column[] = isWide ? [{ title: 'REQUEST' }, ...columns] : columns
  return renderTable(
    withIds,
    rows.map((row) => [...(isWide ? [row.id] : []), ...cellsOf(row, nameOf)]),
  )
}

/** A request on one line, for a list without an end. */
export function requestLine(row: LoggedRequest, nameOf: NameOf): string {
  const [time, key, status, tokens, paid, took, model] = cellsOf(row, nameOf)
  return [time, status, took, key, model, tokens && `${tokens} tokens`, paid && `$${paid}`, row.id]
    .filter(Boolean)
    .join('  ')
}

function cellsOf(row: LoggedRequest, nameOf: NameOf): string[] {
  const status = String(row.status)
  return [
    // Without the year: the newest requests are rarely from another.
    shortTime(row.at).slice(5),
    nameOf(row.key_id) ?? '-',
    Number(status) < 400 ? status : paint('red', status),
    tokensOf(row),
    usdOf(row.amount) ?? '',
    `${row.duration_ms} ms`,
    [row.model, row.error_code].filter((text) => text !== null).join(' '),
  ]
}

function tokensOf({ input_tokens: input, output_tokens: output }: LoggedRequest): string {
  return input === null ? '' : `${input}+${output ?? 0}`
}

export function detailsBlock(id: string, details: RequestDetails, nameOf: NameOf): string {
  const { row, charges, task, webhook } = details
  const entries: Entry[] = [['request', id, 'whole']]
  if (row) entries.push(...rowEntries(row, nameOf), ...attemptEntries(details), ...timeEntries(row))
  else entries.push(['row', 'not in the log, or no longer'])
  for (const charge of charges) entries.push(...chargeEntries(charge))
  if (charges.length === 0) entries.push(['money', 'nothing was held'])
  if (task) entries.push(['task', `${task.id}: ${taskLine(task)}`, 'whole'])
  if (webhook) entries.push(['webhook', `${webhook.webhook.url}: ${webhook.webhook.state}`, 'whole'])
  return renderBlock(entries)
}

/** Bodies for people: those in JSON are laid out. */
export function bodiesText({ request, answer }: KeptBodies): string {
  const shown = (text: string | null) => {
    const json = parsedJson(text)
    return typeof json === 'object' && json !== null ? JSON.stringify(json, null, 2) : (text ?? '(nothing)')
  }
  return `\n${paint('dim', 'request')}\n${shown(request)}\n\n${paint('dim', 'answer')}\n${shown(answer)}`
}

function rowEntries(row: LoggedRequest, nameOf: NameOf): Entry[] {
  const status = Number(row.status)
  const shown = status < 400 ? paint('green', String(status)) : paint('red', String(status))
  const caller = [
    row.account === null ? 'not known' : `account ${row.account}`,
    row.key_id === null ? undefined : `key ${nameOf(row.key_id) ?? row.key_id}`,
    row.client_address === null ? undefined : `from ${row.client_address}`,
  ]
  const entries: Entry[] = [
    ['arrived', utcTime(row.at)],
    [
      'status',
      [shown, row.error_code, row.ended_by && `ended by ${row.ended_by}`].filter(Boolean).join(', '),
    ],
    ['caller', caller.filter(Boolean).join(', ')],
    ['asked', [row.operation, row.model, row.stream === 1 && 'as a stream'].filter(Boolean).join(', ')],
  ]
  if (row.upstream !== null) {
    const answer = row.upstream_request_id === null ? '' : `, its id ${row.upstream_request_id}`
    entries.push(['upstream', `${row.upstream}${answer}`, 'whole'])
  }
  const tokens = tokensOf(row)
  if (tokens) entries.push(['tokens', `${tokens.replace('+', ' in, ')} out`])
  return entries
}

function attemptEntries({ attempts }: RequestDetails): Entry[] {
  return attempts.map(({ model, upstream, status, error, durationMs, requestId }, index) => [
    index === 0 ? 'before' : '',
    `${model} on ${upstream}: ${status} ${error} after ${durationMs} ms${requestId ? `, its id ${requestId}` : ''}`,
  ])
}

function timeEntries(row: LoggedRequest): Entry[] {
  const times = [
    row.sent_ms !== null && `sent after ${row.sent_ms} ms`,
    row.first_byte_ms !== null && `first byte after ${row.first_byte_ms} ms`,
    `ended after ${row.duration_ms} ms`,
    row.upstream_ms !== null && `upstream ${row.upstream_ms} ms`,
  ]
  return [['times', times.filter(Boolean).join(', ')]]
}

function chargeEntries(charge: ChargeView): Entry[] {
  const { state, heldNano, amountNano, shortfallNano, usageSource, usageJson } = charge
  const paid = {
    held: `$${formatUsd(heldNano)} held`,
    settled: `$${formatUsd(amountNano)} paid of $${formatUsd(heldNano)} held`,
    released: `nothing paid, $${formatUsd(heldNano)} released`,
  }[state]
  const lost = shortfallNano > 0 ? `, $${formatUsd(shortfallNano)} could not be paid` : ''
  const by =
    usageSource === null
      ? ''
      : `, by ${usageSource === 'upstream' ? "the vendor's usage" : `usage ${usageSource}`}`
  const entries: Entry[] = [['money', `${paid}${lost}${by}`]]
  if (usageJson !== null) entries.push(['usage', usageJson])
  return entries
}

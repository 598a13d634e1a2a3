// The overview and the search of the console. It must never write, or call a vendor.

import { Type } from '@sinclair/typebox'
import { open } from '../../api-operation/operation'
import type { Usage } from '../../billing/reports/usage-report'
import { budgetsOf } from '../../config/models/plans'
import { isoDay, isoTime } from '../../db/iso-time'
import { periodOfQuery, timeOfQuery } from '../../http/query-time'
import { conflict, invalidRequest } from '../../lib/errors'
import { formatUsd } from '../../lib/money'
import { expiringKeys, spendSpikes } from '../attention-figures'
import { firstStepsOf, hasCharges } from '../first-steps'
import { type OperationContext, operationsIn, optionalText, periodQuery, recordOnly } from '../operation'
import {
  accountsAtLimit,
  endingInUse,
  type FullBudget,
  failedWebhooks,
  keysAtLimit,
  lowBalances,
  openNow,
  type Period,
  periodBefore,
  type Speed,
  spanOf,
  spanStarts,
  speedOf,
  speedsOf,
  spendOf,
} from '../overview-figures'
import { search } from '../search'

const operation = operationsIn('Overview')
const DAY_MS = 86_400_000
const MAX_DAYS = 400

const Figures = Type.Object({ requests: Type.Integer(), failed: Type.Integer() }, open)

function speedJson(speed: Speed) {
  return {
    requests: speed.requests,
    failed: speed.failed,
    failed_by_vendor: speed.failedBy.vendor,
    failed_by_gateway: speed.failedBy.gateway,
    failed_by_caller: speed.failedBy.caller,
    first_byte_p50_ms: speed.firstByteP50Ms,
    first_byte_p99_ms: speed.firstByteP99Ms,
    duration_p50_ms: speed.durationP50Ms,
    duration_p99_ms: speed.durationP99Ms,
  }
}

const NONE = speedJson(speedOf([]))

const overview = operation({
  id: 'getOverview',
  endpoint: 'GET /overview',
  role: 'viewer',
  summary: 'Overview',
  description:
    'Spend, requests, failures and speed by hour or day, what is open now, and what needs attention.',
  query: Type.Object({
    ...periodQuery,
    before_since: optionalText(
      'The start of the period to compare with. Default: the preceding period of the same length.',
    ),
    before_until: optionalText('The end of the earlier period. Default: the same length as the later one.'),
  }),
  reply: Type.Object(
    { since: Type.String(), until: Type.String(), total: Figures, spans: Type.Array(Figures) },
    open,
  ),
  async run({ world, control }, query) {
    const { db, requestLog } = world
    const now = world.now()
    const { until = now, since = until - DAY_MS } = periodOfQuery(query)
    const period: Period = { since, until }
    const length = period.until - period.since
    if (length <= 0 || length > MAX_DAYS * DAY_MS)
      throw invalidRequest(
        'since',
        `Invalid 'since': expected a time before 'until', at most ${MAX_DAYS} days.`,
      )
    const earlier = earlierOf(query, period)
    await requestLog.storeFigures()
    const [spend, before, speeds, current, attention, steps] = await Promise.all([
      spendOf(db, period),
      spendOf(db, earlier),
      speedsOf(db, period),
      openNow(db),
      attentionOf(world, now, period.since),
      firstStepsOf(world, now),
    ])
    const spans = spanStarts(period)
    const spansBefore = spanStarts(earlier).slice(0, spans.length)
    return {
      since: isoTime(period.since),
      until: isoTime(until),
      span_ms: spanOf(period),
      total: {
        ...speedJson(speeds.total),
        amount_usd: formatUsd(spend.total.amountNano),
        amount_before_usd: formatUsd(before.total.amountNano),
        ...marginJson(spend.total),
        margin_before_usd: marginJson(before.total).margin_usd,
        /** Requests with a charge: refused ones have none. */
        charged_requests: spend.total.requests,
      },
      open: {
        holds: current.holds,
        held_usd: formatUsd(current.heldNano),
        tasks: current.tasks,
        unknown_tasks: current.unknownTasks,
      },
      spans: spans.map((at) => ({ at: isoTime(at), ...speedRow(speeds.bySpan, String(at)) })),
      spend: spend.models.map((model) => ({
        model,
        amounts_usd: spans.map((at) => formatUsd(spend.amountNano(at, model))),
      })),
      spend_before_usd: spansBefore.map((at) => formatUsd(before.totalNano(at))),
      upstreams: Object.keys(world.config.upstreams).map((name) => ({
        upstream: name,
        breaker: world.catalogue.upstreams.get(name)?.health().breaker ?? null,
        ...speedRow(speeds.byUpstream, name),
      })),
      models: [...speeds.byModel].flatMap(([model, speed]) =>
        model ? [{ model, ...speedJson(speed) }] : [],
      ),
      attention: {
        ...attention,
        loss_makers: spend.lossMakers.map(({ model, paidNano, costNano }) => ({
          model,
          paid_usd: formatUsd(paidNano),
          cost_usd: formatUsd(costNano),
        })),
        /** Rows that this process could not write since it started. */
        lost_log_rows: requestLog.lostRows(),
      },
      first_steps: steps && { ...steps, can_fill: control.makeHistory !== undefined && !steps.request },
    }
  },
})

/** The period with which another is compared. Throws 400 for one that does not end before the later one begins. */
function earlierOf(
  query: { before_since?: string | undefined; before_until?: string | undefined },
  period: Period,
): Period {
  const since = timeOfQuery('before_since', query.before_since)
  if (since === undefined) return periodBefore(period)
  const length = period.until - period.since
  const until = timeOfQuery('before_until', query.before_until) ?? Math.min(since + length, period.since)
  if (until <= since || until > period.since || until - since > MAX_DAYS * DAY_MS)
    throw invalidRequest(
      'before_since',
      `Invalid 'before_since': expected a period before 'since', at most ${MAX_DAYS} days long.`,
    )
  return { since, until }
}

/** The cost of requests whose vendor's price is known, and their earnings beyond it; null if none is known. */
function marginJson({ costNano, costedNano }: Usage) {
  const isKnown = costNano !== 0 || costedNano !== 0
  return {
    cost_usd: isKnown ? formatUsd(costNano) : null,
    costed_usd: isKnown ? formatUsd(costedNano) : null,
    margin_usd: isKnown ? formatUsd(costedNano - costNano) : null,
  }
}

function speedRow(speeds: ReadonlyMap<string, Speed>, name: string) {
  const speed = speeds.get(name)
  return speed ? speedJson(speed) : NONE
}

async function attentionOf({ db, config, catalogue }: OperationContext['world'], now: number, since: number) {
  const [balances, keys, accounts, webhooks, ending, spikes, expiring] = await Promise.all([
    lowBalances(db, now),
    keysAtLimit(db, now),
    accountsAtLimit(db, budgetsOf(config.plans), now),
    failedWebhooks(db, since),
    endingInUse(db, catalogue, now),
    spendSpikes(db, now),
    expiringKeys(db, now),
  ])
  return {
    low_balances: balances.map(({ account, availableNano, hoursLeft }) => ({
      account,
      available_usd: formatUsd(availableNano),
      /** At the rate of the last hour; null if nothing was spent in it. */
      hours_left: hoursLeft === null ? null : Math.max(0, Math.floor(hoursLeft * 100) / 100),
    })),
    keys_at_limit: keys.map((each) => ({ key: each.name, ...fullBudgetJson(each) })),
    accounts_at_limit: accounts.map((each) => ({
      account: each.name,
      plan: each.plan,
      ...fullBudgetJson(each),
    })),
    failed_webhooks: webhooks,
    spend_spikes: spikes.map(({ key, lastHourNano, medianNano }) => ({
      key,
      last_hour_usd: formatUsd(lastHourNano),
      median_hour_usd: formatUsd(medianNano),
    })),
    expiring_keys: expiring.map(({ key, account, expiresAt }) => ({
      key,
      account,
      expires_at: isoTime(expiresAt),
    })),
    ending_models: ending.map(({ id, retirement: { at, successor = null }, requests }) => ({
      model: id,
      retires: isoDay(at),
      /** True if the vendor no longer serves it. */
      ended: at <= now,
      successor,
      requests_30d: requests,
    })),
  }
}

function fullBudgetJson({ period, committedNano, budgetNano }: FullBudget) {
  return {
    budget_period: period,
    budget_used_usd: formatUsd(committedNano),
    budget_usd: formatUsd(budgetNano),
    percent: Math.floor((committedNano / budgetNano) * 100),
  }
}

const find = operation({
  id: 'search',
  endpoint: 'GET /search',
  role: 'viewer',
  summary: 'Search',
  description: 'Accounts, keys and models whose name begins like this, and requests and tasks by their id.',
  query: Type.Object({
    q: Type.String({ minLength: 1, maxLength: 128, description: 'The beginning of a name, or an id.' }),
  }),
  reply: Type.Object(
    { hits: Type.Array(Type.Object({ kind: Type.String(), name: Type.String() }, open)) },
    open,
  ),
  run: async ({ world }, { q }) => ({ hits: await search(world, q.trim()) }),
})

const fill = operation({
  id: 'fillSandbox',
  endpoint: 'POST /sandbox/history',
  role: 'owner',
  summary: 'Fill an empty sandbox',
  description: 'Requests of 30 days, which are simulated and charged by its books.',
  reply: Type.Object({ accounts: Type.Integer(), requests: Type.Integer(), since: Type.String() }, open),
  async run(context) {
    const { world, control } = context
    if (!control.makeHistory)
      throw conflict(
        'not_a_sandbox',
        'The vendors of this gateway are not simulated. Run `gateway serve --sandbox`, which has its own data.',
      )
    if (await hasCharges(world.db))
      throw conflict(
        'history_exists',
        'This sandbox already has requests. Name an empty directory with --data-dir to start another one.',
      )
    const { accounts, requests, since } = await control.makeHistory()
    const made = { accounts, requests, since: isoTime(since) }
    await recordOnly(context, { action: 'sandbox.fill', target: 'sandbox', after: made })
    return made
  },
})

export const overviewOperations = [overview, find, fill]

// Everything that needs attention, one line each: the problem, a link to its page, and the remedy. An action in a line can always
// be undone; all others open the page that states their consequences.

import type { ComponentChildren } from 'preact'
import { hrefOf } from '../address'
import { call, hasRole, type Reply } from '../api'
import { Action } from '../parts/form'
import { Icon } from '../parts/icon'
import { centsText, sumUsd } from '../parts/money'
import { timeText } from '../parts/time'
import { texts } from '../texts'

const words = texts.overview
type Figures = Reply<'getOverview'>
/** As the button says. */
const EXTENSION_MS = 30 * 86_400_000

interface Line {
  text: string
  href: string
  title?: string | undefined
  action?: ComponentChildren
}

export function Attention({ figures }: { figures: Figures }) {
  const lines = [...ofRunning(figures), ...ofMoney(figures), ...ofKeys(figures), ...ofModels(figures)]
  if (lines.length === 0) return <p class="empty">{words.allWell}</p>
  return (
    <ul class="attention">
      {lines.map(({ text, href, title, action }) => (
        <li key={text}>
          <Icon name="warning" />
          <a href={href} title={title}>
            {text}
          </a>
          {action && hasRole('operator') && <span class="line-action">{action}</span>}
        </li>
      ))}
    </ul>
  )
}

function Go({ href, children }: { href: string; children: string }) {
  return (
    <a class="button" href={href}>
      {children}
    </a>
  )
}

/** Tasks, upstreams, webhooks and the log. */
function ofRunning({ open, upstreams, attention }: Figures): Line[] {
  const line = (isNeeded: boolean, href: string, text: string, action?: string): Line[] =>
    isNeeded ? [{ href, text, action: action && <Go href={href}>{action}</Go> }] : []
  const down = upstreams.filter(({ breaker }) => breaker !== null && breaker !== 'closed')
  const { failed_webhooks: webhooks, lost_log_rows: lostRows } = attention
  return [
    ...line(
      open.unknown_tasks > 0,
      hrefOf('tasks', { state: 'unknown' }),
      words.unknownTasks(open.unknown_tasks),
      words.reconcile,
    ),
    ...down.flatMap(({ upstream }) =>
      line(true, hrefOf('upstreams', {}, upstream), words.down(upstream), words.check),
    ),
    ...line(lostRows > 0, hrefOf('settings', { part: 'retention' }), words.lostLogRows(lostRows)),
    ...line(
      webhooks > 0,
      hrefOf('tasks', { webhook: 'failed' }),
      words.failedWebhooks(webhooks),
      words.seeWebhooks,
    ),
  ]
}

/** Balances and budgets of accounts. */
function ofMoney({ attention }: Figures): Line[] {
  return [
    ...attention.low_balances.map(({ account, available_usd, hours_left }) => ({
      href: hrefOf('accounts', {}, account),
      text: words.low(account, centsText(available_usd), hours_left),
      title: hours_left === null ? undefined : words.lowRate,
      action: <Go href={hrefOf('accounts', {}, account)}>{words.topUp}</Go>,
    })),
    ...attention.accounts_at_limit.map(({ account, plan, percent, budget_period }) => ({
      ...(plan === null
        ? {
            href: hrefOf('accounts', {}, account),
            text: words.accountAtLimit(account, percent, budget_period),
          }
        : {
            href: hrefOf('plans', {}, plan),
            text: words.planAtLimit(account, percent, plan, budget_period),
          }),
      action: <Go href={hrefOf('accounts', {}, account)}>{words.changeLimit}</Go>,
    })),
  ]
}

function ofKeys({ attention }: Figures): Line[] {
  const hrefOfKey = (key: string) => hrefOf('keys', {}, key)
  const pause = (key: string) => (
    <Action title={words.pauseKey} act={() => call('pauseKey', { params: { key } })} />
  )
  return [
    ...attention.spend_spikes.map(({ key, last_hour_usd: hour, median_hour_usd: median }) => ({
      href: hrefOf('requests', { key }),
      text: words.spike(key, centsText(hour), centsText(median)),
      action: pause(key),
    })),
    ...attention.keys_at_limit.map(({ key, percent, budget_period }) => ({
      href: hrefOfKey(key),
      text: words.atLimit(key, percent, budget_period),
      action: <Go href={hrefOfKey(key)}>{words.changeLimit}</Go>,
    })),
    ...attention.expiring_keys.map(({ key, expires_at: at }) => ({
      href: hrefOfKey(key),
      text: words.expiring(key, timeText(at ?? '')),
      action: at && <Action title={words.extend} act={() => extend(key, at)} />,
    })),
  ]
}

/** Lets a key end later. */
function extend(key: string, at: string): Promise<unknown> {
  const expires_at = new Date(Date.parse(at) + EXTENSION_MS).toISOString()
  return call('updateKey', { params: { key }, body: { expires_at } })
}

function ofModels({ attention }: Figures): Line[] {
  const hrefOfModel = (model: string) => hrefOf('models', {}, model)
  return [
    ...attention.loss_makers.map(({ model, paid_usd: paid, cost_usd: cost }) => ({
      href: hrefOf('usage', { by: 'model' }),
      text: words.loss(model, centsText(sumUsd([cost, `-${paid}`]))),
      action: <Go href={hrefOfModel(model)}>{words.changePrice}</Go>,
    })),
    ...attention.ending_models.map(({ model, retires, ended, successor }) => ({
      href: hrefOfModel(model),
      text: words.ending(model, retires, ended, successor),
      action: <Go href={hrefOfModel(model)}>{words.seeModel}</Go>,
    })),
  ]
}

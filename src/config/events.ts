// The part of the configuration that says which events are sent, and to whom. A message about it must never quote a
// secret.

import { type Static, Type } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import { type EventName, eventNames } from '../contract/events'
import { parseDurationMs } from '../lib/durations'
import { parseUsd } from '../lib/money'
import { closed, optionalSetting, requiredSetting } from '../lib/setting'

const Text = Type.String({ minLength: 1, maxLength: 1_024 })
const Url = Type.String({ pattern: '^https?://', maxLength: 2_048 })
/** One mailbox without a display name, which could carry further headers. */
const Mailbox = Type.String({ pattern: '^[^\\s<>@,;:"()]+@[^\\s<>@,;:"()]+$', maxLength: 254 })

export const RecipientEntry = Type.Object(
  {
    webhook: optionalSetting(
      'A URL that receives each event as JSON, signed like the webhooks of tasks. Private networks: `webhooks.allow`.',
      Url,
    ),
    secret: optionalSetting(
      'The secret for signing events to `webhook`: `whsec_` and 24 to 64 bytes in base64.',
      Type.String({ maxLength: 256 }),
    ),
    slack: optionalSetting(
      "A URL that accepts `{ text }`, like Slack's incoming webhooks; Mattermost and others have them too.",
      Url,
    ),
    email: optionalSetting(
      'Mailboxes that get each event as a message, over `events.smtp`.',
      Type.Array(Mailbox, { minItems: 1, maxItems: 50 }),
    ),
    events: optionalSetting(
      'Only these events. Default: all.',
      Type.Array(Type.Union(eventNames.map((name) => Type.Literal(name))), { minItems: 1 }),
    ),
    accounts: optionalSetting(
      'Only events about these accounts and their keys. Default: all.',
      Type.Array(Text, { minItems: 1, maxItems: 1_000 }),
    ),
  },
  closed,
)
export type RecipientEntry = Static<typeof RecipientEntry>

export const SmtpEntry = Type.Object(
  {
    host: requiredSetting('The mail server.', Text),
    port: optionalSetting(
      'Its port. Default 587, with `security: "tls"` 465.',
      Type.Integer({ minimum: 1, maximum: 65_535 }),
    ),
    security: optionalSetting(
      '`starttls`: the connection is upgraded to TLS before anything is sent. `tls`: it uses TLS from the start. `none`: for a server on this machine only. Default `starttls`, and `tls` at port 465.',
      Type.Union([Type.Literal('starttls'), Type.Literal('tls'), Type.Literal('none')]),
    ),
    caFile: optionalSetting(
      'A file in PEM form with the certificate authorities to trust, instead of the usual ones.',
      Text,
    ),
    user: optionalSetting('The user to sign in as. Default: no sign-in.', Text),
    password: optionalSetting("The user's password.", Text),
    from: requiredSetting('The sender of the messages: `gateway@example.com`.', Mailbox),
  },
  closed,
)
export type SmtpEntry = Static<typeof SmtpEntry>

export const EventsEntry = Type.Object(
  {
    to: requiredSetting(
      'Recipients of events, by names of your choice: `{ ops: { slack: "https://hooks.slack.com/…" } }`.',
      Type.Record(Type.String(), RecipientEntry),
    ),
    smtp: optionalSetting('The mail server for recipients with `email`.', SmtpEntry),
    lowBalanceUsd: optionalSetting(
      'The balance below which an account is low: `"5"`. An account that was never funded is not low. Default: an account is low when nothing is left.',
      Text,
    ),
    lowBalanceUsdOf: optionalSetting(
      'The same for individual accounts: `{ alice: "50" }`.',
      Type.Record(Type.String(), Text, { maxProperties: 1_000 }),
    ),
    budgetPercent: optionalSetting(
      'The percentage of its budget at which a key is reported. Default 90: the rest is often too little for another request.',
      Type.Integer({ minimum: 1, maximum: 100 }),
    ),
    keyExpiringDays: optionalSetting(
      'How many days before its expiry a key is reported. Default 7.',
      Type.Integer({ minimum: 1, maximum: 365 }),
    ),
    repeatEvery: optionalSetting(
      'How often a continuing event is sent again: `12h`. Default `1d`.',
      Type.String(),
    ),
  },
  closed,
)
export type EventsEntry = Static<typeof EventsEntry>

const MIN_REPEAT_MS = 60_000
const DEFAULT_REPEAT = '1d'
const DEFAULT_BUDGET_PERCENT = 90
const DEFAULT_EXPIRING_DAYS = 7
const DAY_MS = 86_400_000
const SECRET_FORM = /^whsec_([A-Za-z0-9+/]+={0,2})$/

/** Faults that the schema cannot express; empty if the entry does not fit the schema. */
export function eventFaults(entry: unknown): string[] {
  if (!Check(EventsEntry, entry)) return []
  const amounts = [
    ['lowBalanceUsd', entry.lowBalanceUsd],
    ...Object.entries(entry.lowBalanceUsdOf ?? {}).map(([name, usd]) => [`lowBalanceUsdOf.${name}`, usd]),
  ] as const
  const { repeatEvery, smtp } = entry
  return [
    ...Object.entries(entry.to).flatMap(([name, recipient]) =>
      recipientFaults(recipient, smtp !== undefined).map((fault) => `events.to.${name}${fault}`),
    ),
    ...amounts.flatMap(([place, usd]) =>
      usd === undefined || (parseUsd(usd) ?? -1) >= 0
        ? []
        : [`events.${place}: "${usd}" is not an amount of dollars, such as "5" or "0.50"`],
    ),
    ...(repeatEvery === undefined || (parseDurationMs(repeatEvery) ?? 0) >= MIN_REPEAT_MS
      ? []
      : [`events.repeatEvery: "${repeatEvery}" is not a duration of a minute or more, such as "12h"`]),
    ...(smtp && (smtp.user === undefined) !== (smtp.password === undefined)
      ? ['events.smtp: a user needs a password']
      : []),
  ]
}

function recipientFaults(recipient: RecipientEntry, hasSmtp: boolean): string[] {
  const { webhook, secret, slack, email } = recipient
  const ways = [webhook, slack, email].filter((way) => way !== undefined)
  if (ways.length !== 1) return [': give one of webhook, slack and email']
  if (email && !hasSmtp) return ['.email: needs events.smtp']
  if (webhook === undefined) return secret === undefined ? [] : ['.secret: needs a webhook']
  return isSigningSecret(secret) ? [] : ['.secret: give `whsec_` and 24 to 64 bytes in base64']
}

function isSigningSecret(secret = ''): boolean {
  const bytes = Buffer.from(SECRET_FORM.exec(secret)?.[1] ?? '', 'base64').length
  return bytes >= 24 && bytes <= 64
}

/** The settings of events as they are used. */
export interface EventSettings {
  to: ReadonlyMap<string, RecipientEntry>
  smtp: SmtpEntry | undefined
  /** An account below this amount, in nano-dollars, is low: the limit of all accounts, and those of single ones. */
  lowBalanceNano: number
  lowBalanceNanoOf: ReadonlyMap<string, number>
  budgetPercent: number
  keyExpiringMs: number
  repeatMs: number
}

/** Reads a valid entry. */
export function eventSettingsOf(entry: EventsEntry): EventSettings {
  const nanoOf = (usd: string) => parseUsd(usd) as number
  return {
    to: new Map(Object.entries(entry.to)),
    smtp: entry.smtp,
    // An empty balance is below one nano-dollar.
    lowBalanceNano: Math.max(1, nanoOf(entry.lowBalanceUsd ?? '0')),
    lowBalanceNanoOf: new Map(
      Object.entries(entry.lowBalanceUsdOf ?? {}).map(([name, usd]) => [name, nanoOf(usd)]),
    ),
    budgetPercent: entry.budgetPercent ?? DEFAULT_BUDGET_PERCENT,
    keyExpiringMs: (entry.keyExpiringDays ?? DEFAULT_EXPIRING_DAYS) * DAY_MS,
    repeatMs: parseDurationMs(entry.repeatEvery ?? DEFAULT_REPEAT) as number,
  }
}

/** The balance below which an account is low, in nano-dollars. */
export function lowBalanceOf(entry: EventsEntry, account: string): number {
  const { lowBalanceNano, lowBalanceNanoOf } = eventSettingsOf(entry)
  return lowBalanceNanoOf.get(account) ?? lowBalanceNano
}

/** Whether a recipient wants an event about an account; null for events without one. */
export function wants(
  { events, accounts }: RecipientEntry,
  type: EventName,
  account: string | null,
): boolean {
  if (events && !events.includes(type)) return false
  return accounts === undefined || (account !== null && accounts.includes(account))
}

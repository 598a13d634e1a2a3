// The events that operators can subscribe to, in one table: configurations are checked by it, and texts and documents are made from
// it. Pure.

interface EventType {
  meaning: string
  /** Whether the end of the condition is sent too. */
  notifiesEnd: boolean
  /** True if it is sent once, however long its cause lasts. */
  isSentOnce?: true
}

export const eventTypes = {
  'balance.low': {
    meaning: 'An account has less than `events.lowBalanceUsd`, or nothing left.',
    notifiesEnd: true,
  },
  'budget.reached': {
    meaning: 'A key has used `events.budgetPercent` of its budget for this day, week or month.',
    notifiesEnd: true,
  },
  'account_budget.reached': {
    meaning: 'An account has used `events.budgetPercent` of its budget, its own or that of its plan.',
    notifiesEnd: true,
  },
  'key.expiring': { meaning: 'A key expires within `events.keyExpiringDays`.', notifiesEnd: false },
  shortfall: {
    meaning: 'Requests of an account cost more than it had: the gateway paid the rest.',
    notifiesEnd: false,
  },
  'charge.failed': {
    meaning: 'An answer was delivered and could not be charged: see `charge_not_ended` in the log.',
    notifiesEnd: false,
  },
  'usage.above_quote': {
    meaning: 'A vendor counted more for a model than its requests could use by their size and limits.',
    notifiesEnd: false,
  },
  'price.drift': {
    meaning:
      'The price that a vendor reports for a request differs by more than 1 % from our price list. Sent once per model and day.',
    notifiesEnd: false,
    isSentOnce: true,
  },
  'upstream.down': { meaning: 'A vendor has not answered for a minute.', notifiesEnd: true },
  'upstream.refused': {
    meaning: "A vendor refuses the operator's account: its key, billing or permissions.",
    notifiesEnd: true,
  },
  'backup.failed': { meaning: 'A backup could not be made.', notifiesEnd: true },
  'backup.late': {
    meaning: 'The newest backup is more than twice as old as `backup.every` allows.',
    notifiesEnd: true,
  },
  'books.wrong': { meaning: 'The books are inconsistent: see `gateway balance verify`.', notifiesEnd: false },
  'configuration.refused': {
    meaning: 'A changed configuration has faults; the previous one stays in use.',
    notifiesEnd: true,
  },
  'model.retiring': {
    meaning:
      'The vendor of a model that was used in the last 30 days retires it in 30 days, in 7 days, or in one day. Sent once each time.',
    notifiesEnd: false,
    isSentOnce: true,
  },
  'payment.not_credited': {
    meaning: 'A payment could not be credited: see its reason.',
    notifiesEnd: false,
  },
  'statement.issued': {
    meaning: 'A statement of an account was issued. It is sent once and not repeated.',
    notifiesEnd: false,
    isSentOnce: true,
  },
  'webhook.failed': {
    meaning:
      "Delivery of an account's webhooks was given up: their receiver did not accept them for three days.",
    notifiesEnd: false,
  },
} as const satisfies Record<string, EventType>

export type EventName = keyof typeof eventTypes
export const eventNames = Object.keys(eventTypes) as EventName[]
/** Events that are sent once, however long their cause lasts. */
export const eventsSentOnce = eventNames.filter((name) => (eventTypes[name] as EventType).isSentOnce)

/** The event that tests a recipient. */
export const TEST_EVENT = 'test'

/** The subject of an event: an account, a key, an upstream, and figures about it. */
export interface EventItem {
  subject: string
  account?: string
  since: string
  [figure: string]: unknown
}

/** The body of an event, as webhooks get it. */
export interface EventBody {
  id: string
  type: EventName | typeof TEST_EVENT
  /** When the event was sent, in ISO 8601. */
  timestamp: string
  data: {
    state: EventState
    items: EventItem[]
  }
}

/** Whether a condition begins, persists or is over. */
export type EventState = 'began' | 'continues' | 'ended'

// The states of a stream between a vendor and a caller, as a table of states and events. It must stay data: no socket,
// no timer and no clock, so that every state can be tried with every event.

/** The state of a stream. */
export type RelayState =
  /** Nobody has requested the first bytes: the vendor's body is not read yet. */
  | 'unread'
  /** The caller has taken everything that arrived and has not requested more. */
  | 'idle'
  /** The caller waits for the vendor. */
  | 'waiting'
  /** The caller waits: the next output is not sent before the hold is extended. */
  | 'short'
  /** The caller has disconnected; the rest is read only for the vendor's figures. */
  | 'draining'
  /** The caller has disconnected, and the rest is not read before the hold is extended. */
  | 'draining-short'
  /** The closing event has arrived and is held back until the answer is settled. */
  | 'closing'
  /** The closing events are held back or still to be written, and the vendor sends nothing more. */
  | 'closing-ended'
  /** The answer is settled and the closing event sent; the vendor has not closed its stream yet. */
  | 'closed'
  /** The vendor closed without a closing event: what it sent is being settled. */
  | 'completing'
  /** The stream was broken off, by either side: what passed is being settled. */
  | 'failing'
  /** Nothing more happens. */
  | 'over'

/** An event of a stream. */
export type RelayEvent =
  /** The caller wants more. */
  | 'pulled'
  /** The caller has disconnected, and nothing more is needed from the vendor. */
  | 'left'
  /** The caller has disconnected, and the rest should be read for the vendor's figures. */
  | 'left-to-drain'
  /** Bytes from the vendor. */
  | 'piece'
  /** Whole events for the caller were read from them. */
  | 'events'
  /** Whole events, including the closing event. */
  | 'last-events'
  /** The next events have more output than is held. */
  | 'short'
  /** The hold was extended. */
  | 'extended'
  /** The account cannot pay for more. */
  | 'refused'
  /** The vendor has closed the stream, and everything that it sent was read. */
  | 'ended'
  /** The vendor broke off, or sent something unreadable. */
  | 'broke'
  /** The answer has exceeded the maximum duration. */
  | 'overdue'
  /** The vendor has been silent for too long. */
  | 'silent'
  /** The caller has taken nothing for too long. */
  | 'stalled'
  /** Nothing was sent for so long that proxies may cut the stream. */
  | 'quiet'
  /** The time for reading without a caller is over. */
  | 'drained'
  /** The charge was settled. */
  | 'settled'
  /** The charge could not be settled. */
  | 'unsettled'

/** An action of a stream. */
export type RelayAction =
  /** Begin to read the vendor's body. */
  | 'begin'
  /** Read the kept bytes, then new ones. */
  | 'resume'
  /** Keep the bytes of the event until the caller wants them, and let the vendor wait. */
  | 'keep'
  /** Read the events in the bytes. */
  | 'read'
  /** Send the bytes to the caller. */
  | 'send'
  /** Keep the bytes until the answer is settled. */
  | 'hold'
  /** Send the bytes that were held. */
  | 'sendHeld'
  /** Send a keep-alive on a silent connection. */
  | 'keepAlive'
  /** Send why the answer ends here, unless it is complete or the vendor has reported it. */
  | 'explain'
  /** End the answer. */
  | 'close'
  /** Break the answer off, so that nobody mistakes it for a complete one. */
  | 'breakOff'
  /** Send nothing more: the caller has disconnected. */
  | 'forgetCaller'
  /** Report a caller that takes nothing as given up: it counts as disconnected. */
  | 'giveUpCaller'
  /** Extend the hold. */
  | 'extend'
  /** End the call to the vendor. */
  | 'abort'
  /** End the call to a vendor that does not close its stream soon. */
  | 'closeSoon'
  /** Limit the time for reading without a caller. */
  | 'limitDrain'
  /** Settle an answer whose closing event has arrived. */
  | 'settleDone'
  /** Read what is left, and settle an answer without a closing event. */
  | 'settleRest'
  /** Settle an answer that the vendor or a shutdown has cut off. */
  | 'settleCut'
  /** Settle an answer that ends as at its limit, because the account cannot pay for more. */
  | 'settleShort'
  /** Settle an answer that took too long. */
  | 'settleTimeout'
  /** Settle an answer whose caller has disconnected. */
  | 'settleLeft'

export interface RelayStep {
  readonly to: RelayState
  readonly actions: readonly RelayAction[]
}

type Row = Partial<Record<RelayEvent, RelayStep>>

/** A step of the table. An action that may cause the next event immediately is last. */
const to = (state: RelayState, ...actions: RelayAction[]): RelayStep => ({ to: state, actions })

/** Steps of states in which the caller is connected and the answer is incomplete. */
const flowing = {
  left: to('failing', 'forgetCaller', 'abort', 'settleLeft'),
  broke: to('failing', 'abort', 'settleCut'),
  overdue: to('failing', 'abort', 'settleTimeout'),
} satisfies Row

const table: Readonly<Record<RelayState, Row>> = {
  unread: {
    ...flowing,
    pulled: to('waiting', 'begin'),
    'left-to-drain': to('draining', 'forgetCaller', 'limitDrain', 'begin'),
    stalled: to('unread', 'giveUpCaller'),
  },
  idle: {
    ...flowing,
    pulled: to('waiting', 'resume'),
    'left-to-drain': to('draining', 'forgetCaller', 'limitDrain', 'resume'),
    piece: to('idle', 'keep'),
    ended: to('completing', 'settleRest'),
    stalled: to('idle', 'giveUpCaller'),
  },
  waiting: {
    ...flowing,
    pulled: to('waiting', 'resume'),
    'left-to-drain': to('draining', 'forgetCaller', 'limitDrain', 'resume'),
    piece: to('waiting', 'read'),
    events: to('idle', 'send'),
    'last-events': to('closing', 'hold', 'settleDone'),
    ended: to('completing', 'settleRest'),
    silent: to('failing', 'abort', 'settleTimeout'),
    quiet: to('waiting', 'keepAlive'),
    short: to('short', 'extend'),
  },
  short: {
    ...flowing,
    'left-to-drain': to('draining-short', 'forgetCaller', 'limitDrain'),
    piece: to('short', 'keep'),
    extended: to('waiting', 'resume'),
    refused: to('closing-ended', 'abort', 'settleShort'),
    quiet: to('short', 'keepAlive'),
  },
  draining: {
    short: to('draining-short', 'extend'),
    piece: to('draining', 'read'),
    'last-events': to('closing', 'settleDone'),
    ended: to('completing', 'settleRest'),
    broke: to('failing', 'abort', 'settleLeft'),
    overdue: to('failing', 'abort', 'settleLeft'),
    drained: to('failing', 'abort', 'settleLeft'),
  },
  'draining-short': {
    piece: to('draining-short', 'keep'),
    extended: to('draining', 'resume'),
    refused: to('failing', 'abort', 'settleLeft'),
    broke: to('failing', 'abort', 'settleLeft'),
    overdue: to('failing', 'abort', 'settleLeft'),
    drained: to('failing', 'abort', 'settleLeft'),
  },
  closing: {
    left: to('closing', 'forgetCaller'),
    'left-to-drain': to('closing', 'forgetCaller'),
    // Bytes after the closing event are detected, because they make the connection unusable.
    piece: to('closing', 'read'),
    ended: to('closing-ended'),
    broke: to('closing-ended', 'abort'),
    settled: to('closed', 'sendHeld', 'closeSoon'),
    unsettled: to('over', 'abort', 'breakOff'),
  },
  'closing-ended': {
    left: to('closing-ended', 'forgetCaller'),
    'left-to-drain': to('closing-ended', 'forgetCaller'),
    settled: to('over', 'sendHeld', 'close'),
    unsettled: to('over', 'abort', 'breakOff'),
  },
  closed: {
    left: to('closed', 'forgetCaller'),
    'left-to-drain': to('closed', 'forgetCaller'),
    piece: to('closed', 'read'),
    ended: to('over', 'close'),
    broke: to('over', 'abort', 'close'),
    unsettled: to('over', 'abort', 'breakOff'),
  },
  completing: {
    left: to('completing', 'forgetCaller'),
    'left-to-drain': to('completing', 'forgetCaller'),
    broke: to('failing', 'abort', 'settleCut'),
    settled: to('over', 'sendHeld', 'explain', 'close'),
    unsettled: to('over', 'abort', 'breakOff'),
  },
  failing: {
    left: to('failing', 'forgetCaller'),
    'left-to-drain': to('failing', 'forgetCaller'),
    settled: to('over', 'explain', 'close'),
    unsettled: to('over', 'abort', 'breakOff'),
  },
  over: {},
}

/** The step for a state and an event; undefined if the event changes nothing. Allocates nothing. */
export function relayStep(state: RelayState, event: RelayEvent): RelayStep | undefined {
  return table[state][event]
}

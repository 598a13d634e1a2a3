// The table of a stream's states and events: each pair in isolation, and every path through the table from the first
// byte to the end. streams.test.ts tests the real relay with sockets, timers and money.

import { describe, expect, test } from 'bun:test'
import {
  type RelayAction,
  type RelayEvent,
  type RelayState,
  type RelayStep,
  relayStep,
} from '../../src/request/stream/relay-table'

/** All events, in the order of the rows below. */
const events = Object.keys({
  pulled: '',
  left: '',
  'left-to-drain': '',
  piece: '',
  events: '',
  'last-events': '',
  short: '',
  extended: '',
  refused: '',
  ended: '',
  broke: '',
  overdue: '',
  silent: '',
  stalled: '',
  quiet: '',
  drained: '',
  settled: '',
  unsettled: '',
} satisfies Record<RelayEvent, ''>) as RelayEvent[]

/** The state after each event, in that order. A dot means that the event changes nothing. */
const expected: Record<RelayState, string> = {
  //        what the caller does        what the vendor does         what the hold says       the vendor's end    what the clock says   what the ledger says
  unread:
    '   waiting failing  draining  . . .                    . . .                           .          failing   failing . unread .   .  . .',
  idle: '     waiting failing  draining  idle . .                 . . .                           completing failing   failing . idle .     .  . .',
  waiting:
    '  waiting failing  draining  waiting idle closing     short . .                       completing failing   failing failing . waiting . . .',
  short:
    '    .       failing  draining-short  short . .          . waiting closing-ended         .          failing   failing . . short    .  . .',
  draining:
    ' .       .        .         draining . closing       draining-short . .              completing failing   failing . . .       failing . .',
  'draining-short':
    '.   .        .         draining-short . .       . draining failing              .          failing   failing . . .       failing . .',
  closing:
    '  .       closing  closing   closing . .              . . .                           closing-ended closing-ended . . . . .  closed over',
  'closing-ended':
    '. closing-ended closing-ended . . .          . . .                           .          . . . . .  .   over over',
  closed:
    '   .       closed   closed    closed . .               . . .                           over       over      . . . .  .   . over',
  completing:
    '.      completing completing . . .                     . . .                           .          failing   . . . .  .   over over',
  failing:
    '  .       failing  failing   . . .                     . . .                           .          .         . . . .  .   over over',
  over: '     . . . . . . . . . . . . . . . . . .',
}
const states = Object.keys(expected) as RelayState[]

const settling: readonly RelayAction[] = [
  'settleDone',
  'settleRest',
  'settleCut',
  'settleShort',
  'settleTimeout',
  'settleLeft',
]
/** Actions that can cause another event before they return. */
const answering: readonly RelayAction[] = ['begin', 'resume', 'read', 'send', 'giveUpCaller', ...settling]
/** States in which the answer is being settled. */
const unsettled: readonly RelayState[] = ['closing', 'closing-ended', 'completing', 'failing']

interface Step extends RelayStep {
  from: RelayState
  event: RelayEvent
}

const steps: Step[] = states.flatMap((from) =>
  events.flatMap((event) => {
    const transition = relayStep(from, event)
    return transition ? [{ from, event, ...transition }] : []
  }),
)
const settles = ({ actions }: RelayStep) => actions.some((action) => settling.includes(action))
const names = (some: readonly Step[]) => some.map(({ from, event }) => `${from} ${event}`)

describe('the state of a stream', () => {
  for (const from of states) {
    const targets = expected[from].trim().split(/\s+/)
    expect(targets.length).toBe(events.length)
    for (const [index, event] of events.entries()) {
      test(`${from}, after ${event}: ${targets[index]}`, () => {
        expect(relayStep(from, event)?.to ?? '.').toBe(targets[index] as RelayState)
      })
    }
  }
})

describe('in the table of a stream', () => {
  test('an answer is settled when it stops, and never again', () => {
    const entering = steps.filter(({ from, to }) => unsettled.includes(to) && !unsettled.includes(from))
    expect(names(entering.filter((step) => !settles(step)))).toEqual([])
    // If the rest is unreadable, nothing has been settled yet.
    const again = steps.filter((step) => settles(step) && unsettled.includes(step.from))
    expect(names(again)).toEqual(['completing broke'])
    expect(names(steps.filter((step) => settles(step) && !unsettled.includes(step.to)))).toEqual([])
  })

  test('no answer ends before it is settled', () => {
    const ending = steps.filter(({ actions }) =>
      (['sendHeld', 'explain', 'close'] as const).some((action) => actions.includes(action)),
    )
    const early = ending.filter(({ from, event }) => event !== 'settled' && from !== 'closed')
    expect(names(early)).toEqual([])
    expect(names(steps.filter(({ from, to }) => to === 'closed' && from !== to))).toEqual(['closing settled'])
  })

  test('a charge that could not be stored breaks the answer off', () => {
    for (const step of steps.filter(({ event }) => event === 'unsettled')) {
      expect(step).toMatchObject({ to: 'over', actions: ['abort', 'breakOff'] })
    }
    expect(steps.filter(({ event }) => event === 'unsettled').map(({ from }) => from)).toEqual([
      'closing',
      'closing-ended',
      'closed',
      'completing',
      'failing',
    ])
  })

  test('the call to the vendor ends when an answer breaks off, whatever the cause', () => {
    const failing = steps.filter(({ from, to }) => to === 'failing' && from !== to)
    expect(failing.length).toBeGreaterThan(10)
    expect(names(failing.filter(({ actions }) => !actions.includes('abort')))).toEqual([])
  })

  test('events are sent only to a caller who waits for them', () => {
    expect(names(steps.filter(({ actions }) => actions.includes('send')))).toEqual(['waiting events'])
    expect(names(steps.filter(({ actions }) => actions.includes('keepAlive')))).toEqual([
      'waiting quiet',
      'short quiet',
    ])
  })

  test('a caller who disconnects is sent nothing more, in every state', () => {
    const leaving = steps.filter(({ event }) => event === 'left' || event === 'left-to-drain')
    expect(names(leaving.filter(({ actions }) => actions[0] !== 'forgetCaller'))).toEqual([])
    const staying = states.filter((state) => !leaving.some(({ from }) => from === state))
    // Nobody can disconnect twice.
    expect(staying).toEqual(['draining', 'draining-short', 'over'])
  })

  test('an action that causes the next event is the last one', () => {
    for (const { actions } of steps) {
      for (const action of actions.slice(0, -1)) expect(answering).not.toContain(action)
    }
  })
})

describe('every path through the table of a stream', () => {
  /** Each state, and whether the answer was settled on the way to it. */
  const reached = new Map<string, { state: RelayState; settled: number }>()
  const follow = (state: RelayState, settled: number): void => {
    const key = `${state} ${settled}`
    if (reached.has(key)) return
    reached.set(key, { state, settled })
    for (const event of events) {
      const step = relayStep(state, event)
      if (step) follow(step.to, settled + (settles(step) && state !== 'completing' ? 1 : 0))
    }
  }
  follow('unread', 0)

  test('settles the answer once, and ends', () => {
    const before = ['unread', 'idle', 'waiting', 'short', 'draining', 'draining-short']
    for (const { state, settled } of reached.values()) expect(settled).toBe(before.includes(state) ? 0 : 1)
    expect([...reached.values()].map(({ state }) => state).sort()).toEqual([...states].sort())
  })

  test('can end from every state, and ends only in the closed state', () => {
    for (const state of states.filter((state) => state !== 'over')) {
      const open: RelayState[] = [state]
      const seen = new Set(open)
      for (let at = open.pop(); at; at = open.pop()) {
        for (const event of events) {
          const to = relayStep(at, event)?.to
          if (to && !seen.has(to)) open.push(to)
          if (to) seen.add(to)
        }
      }
      expect(seen).toContain('over')
    }
  })
})

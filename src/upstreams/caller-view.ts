// Removes from a vendor's answer its cost to the operator, and the operator's account with the vendor. It must never change an
// answer that has neither, or text that a model has written.

import { editObject, scanObject } from '../lib/json/json'
import { dataOfEvent, fromLatin1, objectIn, toLatin1 } from '../lib/sse'

type Members = Record<string, unknown>

/**
 * Members of usage to remove: `cost`, `cost_details`, `cost_in_usd_ticks`, `estimated_cost`, `is_byok`, `total_price`.
 */
const COST_OF_USAGE = /cost|price|currency|byok/i
/** Members of the answer itself to remove, where other names are more likely something else. */
const REPORTED_BY_ANSWER =
  /^(costs?|is_byok|(cost_|estimated_cost|total_cost|upstream_cost).*|(organi[sz]ation|org|project|account|team|tenant|workspace)_?id)$/i
/** The members to remove, as written in the text of an event. */
const REPORTED_BY_EVENT =
  /cost|price|currency|byok|(organi[sz]ation|org|project|account|team|tenant|workspace)_?id"/i
/** How deep figures may be nested. */
const USAGE_DEPTH = 3

/** The answer without these members; the same object if it has none. */
export function callerView<Answer extends object>(answer: Answer): Answer {
  return viewOf(answer as Members) as Answer
}

/**
 * The text of an answer without these members, every other character unchanged. `shown` is the answer with other figures, if they
 * differ from those that the vendor reports.
 */
export function callerText(text: string, answer: object, shown: object = answer): string {
  return edited(text, answer as Members, callerView(shown) as Members)
}

/** An event of a stream, as Latin-1, without these members. `shownOf` gives it other figures, or none. */
export function callerEvent(
  event: string,
  isError: boolean,
  shownOf?: ((json: object) => object) | undefined,
): string {
  if (isError) return toLatin1(withoutAccountIds(fromLatin1(event)))
  // Only an event that has such a word anywhere is checked further.
  if (!shownOf && !REPORTED_BY_EVENT.test(event)) return event
  const data = dataOfEvent(event)
  const json = data === undefined ? undefined : objectIn(data)
  const own = json && shownOf ? shownOf(json) : json
  const seen = own && callerView(own)
  if (data === undefined || !json || !own || seen === json) return event
  const shown = toLatin1(callerText(data, json, own))
  const whole = toLatin1(data)
  if (event.includes(whole)) return event.replace(whole, () => shown)
  // Data over several lines.
  const names = event.split(/\r\n|\n|\r/).filter((line) => line !== '' && !line.startsWith('data'))
  return `${[...names, `data: ${shown.replaceAll(/\s*\n\s*/g, ' ')}`].join('\n')}\n\n`
}

const IDENTIFIER = String.raw`(?:[0-9a-f]{8}-[0-9a-f-]{27}|\d{6,}|(?=[\w-]*\d)[A-Za-z0-9][\w-]{7,})`
const ACCOUNTS: readonly (readonly [RegExp, string])[] = [
  // An id that shows its kind: org-…, proj_…, wrkspc_….
  [/\b(?:org|proj|acct|team|user|wrkspc)[-_](?=[A-Za-z_-]*[0-9A-Z])[A-Za-z0-9_-]{8,}/g, '…'],
  // projects/123456, project_number:123456
  [
    /\b(projects|project_number|organizations|accounts|teams|workspaces|subscriptions|tenants)([/:=]\s*)[\w-]{4,}/gi,
    '$1$2…',
  ],
  [
    new RegExp(
      String.raw`\b((?:org(?:ani[sz]ation)?|account|project|team|workspace|tenant|subscription|consumer|uid|key)(?:[ _-]?(?:id|uuid|number))?[\s:=("'\x60#\\]+)${IDENTIFIER}`,
      'gi',
    ),
    '$1…',
  ],
]

/**
 * A vendor's error text, which may be JSON, without the ids of the operator's organization, project, team or account.
 */
export function withoutAccountIds(text: string): string {
  return ACCOUNTS.reduce((words, [pattern, shown]) => words.replace(pattern, shown), text)
}

/** The answer of a failed task, or an error event: all its texts are about the failure. */
export function callerComplaint<Complaint extends object>(complaint: Complaint): Complaint {
  return JSON.parse(withoutAccountIds(JSON.stringify(complaint)))
}

/**
 * The answer for callers. Usage is in the answer, in an object of it such as `message`, or in one of its choices.
 */
function viewOf(answer: Members): Members {
  let changes: Map<string, unknown> | undefined
  for (const name in answer) {
    const value = answer[name]
    const seen = matchesName(name, REPORTED_BY_ANSWER, reportedByAnswer)
      ? undefined
      : viewOfMember(name, value)
    if (seen !== value) changes = (changes ?? new Map()).set(name, seen)
  }
  return changes ? changed(answer, changes) : answer
}

function viewOfMember(name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (name === 'usage') return usageView(value, USAGE_DEPTH)
  if (!Array.isArray(value)) return withUsageView(value)
  return name === 'choices' && value.some((choice) => withUsageView(choice) !== choice)
    ? value.map(withUsageView)
    : value
}

function withUsageView(value: unknown): unknown {
  if (!isMembers(value)) return value
  const seen = usageView(value.usage, USAGE_DEPTH)
  return seen === value.usage ? value : { ...value, usage: seen }
}

function usageView(usage: unknown, depth: number): unknown {
  if (!isMembers(usage)) return usage
  let changes: Map<string, unknown> | undefined
  for (const name in usage) {
    const value = usage[name]
    const isCost = matchesName(name, COST_OF_USAGE, reportedByUsage)
    const seen = isCost ? undefined : depth > 0 ? usageView(value, depth - 1) : value
    if (seen !== value) changes = (changes ?? new Map()).set(name, seen)
  }
  return changes ? changed(usage, changes) : usage
}

/** Names that were already checked: vendors use the same few again and again, and a look-up is faster than a match. */
const reportedByAnswer = new Map<string, boolean>()
const reportedByUsage = new Map<string, boolean>()
const MAX_KNOWN_NAMES = 1_000
const MAX_KNOWN_NAME_LENGTH = 64

function matchesName(name: string, pattern: RegExp, known: Map<string, boolean>): boolean {
  let isOperators = known.get(name)
  if (isOperators === undefined) {
    isOperators = pattern.test(name)
    if (known.size < MAX_KNOWN_NAMES && name.length <= MAX_KNOWN_NAME_LENGTH) known.set(name, isOperators)
  }
  return isOperators
}

/** The members with some replaced, and without those that are now undefined. */
function changed(members: Members, changes: ReadonlyMap<string, unknown>): Members {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) => {
      const seen = changes.has(name) ? changes.get(name) : value
      return seen === undefined ? [] : [[name, seen]]
    }),
  )
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The text of an object, with the same changes as the object. */
function edited(text: string, before: Members, after: Members): string {
  if (before === after) return text
  const scanned = scanObject(text)
  // Lists, objects with a repeated name, and anything that is no longer an object.
  if (!('members' in scanned) || !isMembers(after)) return JSON.stringify(after)
  const set: Record<string, string> = {}
  const drop: string[] = []
  for (const name of Object.keys({ ...before, ...after })) {
    const member = scanned.members.get(name)
    if (before[name] === after[name]) continue
    if (!(name in after)) drop.push(name)
    else if (!member) set[name] = JSON.stringify(after[name])
    else
      set[name] = edited(
        text.slice(member.valueStart, member.valueEnd),
        before[name] as Members,
        after[name] as Members,
      )
  }
  return editObject(text, scanned, { set, drop })
}

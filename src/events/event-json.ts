// Events and conditions as JSON, for the admin API and the command line. An address or a secret of a recipient must never
// be in it.

import type { EventBody } from '../contract/events'
import type { Db } from '../db/db'
import { UnreadableText } from '../db/encryption/codec'
import { isoTime } from '../db/iso-time'
import { bodyOfWebhook, type SentEvent } from '../webhooks/rows'
import type { StoredCondition } from './conditions'

export function eventJson(db: Pick<Db, 'codec'>, event: SentEvent) {
  const body = bodyOf(db, event)
  return {
    id: event.id,
    type: body?.type ?? 'unreadable',
    state: body?.data.state ?? null,
    items: body?.data.items ?? [],
    recipient: event.recipient,
    delivery: event.state,
    attempts: event.attempts,
    last_status: event.lastStatus,
    last_answer: event.lastAnswer,
    next_at: event.state === 'pending' ? isoTime(event.nextAt) : null,
    created_at: isoTime(event.createdAt),
    ended_at: isoTime(event.endedAt),
  }
}

/** The body of an event; undefined if it cannot be decrypted with the keys of this process. */
function bodyOf(db: Pick<Db, 'codec'>, event: SentEvent): EventBody | undefined {
  try {
    return JSON.parse(bodyOfWebhook(db, event))
  } catch (error) {
    if (error instanceof UnreadableText) return undefined
    throw error
  }
}

export function conditionJson({ type, subject, account, details, beganAt, notifiedAt }: StoredCondition) {
  return { type, subject, account, since: isoTime(beganAt), told_at: isoTime(notifiedAt), details }
}

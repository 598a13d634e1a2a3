// The part of a payload contract that follows tasks: how they begin, how a vendor is polled about them, and what it may answer.
// Types only. Nothing here must know a vendor or a database.

import type { Call, Model } from './family'
import type { Quantities } from './units'

/** A finished video of the same account and model. */
export interface EarlierVideo {
  /** The id of the task. */
  id: string
  /** The address at the vendor. */
  url: string
  /** The length as billed. */
  seconds: number
  /** The facts about its request that its family has stored. */
  pollContext: PollContext
}

/** Follows a family's tasks until they end. */
export interface TaskContract<Body = unknown> {
  /** The status of our answer to a submission that the vendor accepted. */
  submittedStatus: 200 | 202
  /** The vendor's id of the task, in its answer to the submission; undefined if the answer has no id. */
  id(reply: object): string | undefined
  /** Facts about the request that `outcome` needs; they are stored with the task and must be small. */
  pollContext(body: Body, model: Model): PollContext
  /** The ids of earlier tasks in a request, each with its place. Absent: it cannot refer to any. */
  earlier?(body: Body): { field: string; id: unknown }[]
  /**
   * The body, without its model, of a request that makes another video from an earlier one. Throws 400 if the model cannot. Absent:
   * no model of the family can.
   */
  remix?(prompt: string, earlier: EarlierVideo, model: Model): Record<string, unknown>
  /** The call for the state of a task. Facts that are no longer readable fail only the calls that need them. */
  poll(upstreamId: string, task: KeptFacts): Call
  /** The call that stops a task. Absent: the vendor cannot stop one. */
  cancel?(upstreamId: string, task: KeptFacts): Call
  /**
   * Whether the vendor's answer to that call says that the task has stopped. False if the vendor only tries to: the task continues
   * until its state changes. Absent: every successful answer does.
   */
  hasStopped?(reply: object): boolean
  /** The form of tasks for clients of the vendor's own API. Absent: they get the gateway's. */
  ownForm?: OwnTaskForm
  /**
   * Reads the vendor's answer to a poll; undefined if it says nothing about the task. An empty answer reads as an empty
   * object.
   */
  outcome(reply: object, pollContext: PollContext): TaskOutcome | undefined
  /** How the result of a finished task is fetched by a call of its own. Absent: its state contains the result. */
  result?: TaskResult
}

/** The second call of a poll, for vendors whose tasks have a state and a result at different URLs. */
export interface TaskResult {
  /** The call for the result; undefined while the state says that there is no result. */
  call(state: object, upstreamId: string, pollContext: PollContext): Call | undefined
  /** Reads the answer; undefined if it says nothing about the task, so that both calls are repeated. */
  outcome(answer: ResultAnswer, state: object, pollContext: PollContext): TaskOutcome | undefined
}

/** The vendor's answer to the call for a result: its body, or an error that is not the operator's, by its HTTP status. */
export type ResultAnswer = { reply: object } | { status: number; error: { code: string; message: string } }

/**
 * Clients of the vendor's own API submit to POST /v1/videos/generations, as others do, and then ask
 * GET /v1/videos/{id} by the id that the vendor gave the task. For an id of the gateway, that path answers in OpenAI's form.
 */
export interface OwnTaskForm {
  /** Members of the answer to a submission, in addition to those of every task. */
  submitted(upstreamId: string): object
  /** A task in the vendor's form, made from the gateway's document. */
  shown(upstreamId: string, document: Readonly<Record<string, unknown>>): { status: number; body: object }
}

/** Facts about the request of a task, which are read on demand. */
export interface KeptFacts {
  readonly pollContext: PollContext
}

export type PollContext = Readonly<Record<string, unknown>>

/** The state of a task. `document` is the vendor's own task, with `content`, `usage` and `seed` if it has succeeded. */
export type TaskOutcome =
  | { status: 'submitted'; document: object; progress?: number }
  /** `quantities` only if the vendor decides what is charged; `serviceTier` if it reports one. */
  | {
      status: 'succeeded'
      document: object
      videoUrl: string
      quantities?: Quantities
      serviceTier?: string
    }
  | { status: 'failed'; document: object; error: { code: string; message: string } }
  /** The vendor does not know the task, or no longer does. */
  | { status: 'missing' }

/** Supported video lengths of a model, in seconds. */
export interface Durations {
  min: number
  max: number
  /** Seconds that are held and billed if the request names none. */
  default: number
  /** True if -1 lets the vendor choose the length: the maximum is held, and the reported seconds are billed. */
  vendorMayChoose?: boolean
}

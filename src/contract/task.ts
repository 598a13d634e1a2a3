// The part of a payload contract that follows tasks: how they begin, how a vendor is asked after them, and what it may
// answer. Types only. Nothing here must know a vendor or a database.

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
  /** The status of our answer to a submit that the vendor accepted. */
  submittedStatus: 200 | 202
  /** The vendor's id of the task, in its answer to the submit; undefined if there is none. */
  id(reply: object): string | undefined
  /** Facts about the request that `outcome` needs; stored with the task, so they are small. */
  pollContext(body: Body, model: Model): PollContext
  /** The ids of earlier tasks that a request names, each with its place. Absent: it can name none. */
  earlier?(body: Body): { field: string; id: unknown }[]
  /**
   * The body, without its model, of a request that makes another video of an earlier one. Throws 400 where the model
   * cannot. Absent: no model of the family can.
   */
  remix?(prompt: string, earlier: EarlierVideo, model: Model): Record<string, unknown>
  /** The call for the state of a task. Facts that cannot be read any more fail only the calls that need them. */
  poll(upstreamId: string, task: KeptFacts): Call
  /** The call that stops a task. Absent: the vendor cannot. */
  cancel?(upstreamId: string, task: KeptFacts): Call
  /**
   * Whether the vendor's answer to that call says that the task has stopped. False if the vendor only tries to: the task goes
   * on until its state says more. Absent: every answer of success does.
   */
  hasStopped?(reply: object): boolean
  /** The form of tasks for clients of the vendor's own API. Absent: they get the gateway's. */
  ownForm?: OwnTaskForm
  /**
   * Reads the vendor's answer to a poll; undefined if it says nothing about the task. An empty answer reads as an empty
   * object.
   */
  outcome(reply: object, pollContext: PollContext): TaskOutcome | undefined
  /** Where the result of a task that is done is asked for by a call of its own. Absent: its state has the result. */
  result?: TaskResult
}

/** The second call of a poll, for vendors whose tasks have a state and a result at different addresses. */
export interface TaskResult {
  /** The call for the result; undefined while the state says that there is none. */
  call(state: object, upstreamId: string, pollContext: PollContext): Call | undefined
  /** Reads the answer; undefined if it says nothing about the task, so that both are asked again. */
  outcome(answer: ResultAnswer, state: object, pollContext: PollContext): TaskOutcome | undefined
}

/** The vendor's answer to the call for a result: its body, or an error that is not the operator's, by its HTTP status. */
export type ResultAnswer = { reply: object } | { status: number; error: { code: string; message: string } }

/**
 * Clients of the vendor's own API submit to POST /v1/videos/generations, as others do, and then ask
 * GET /v1/videos/{id} by the id that the vendor gave the task. By its id here that path answers in OpenAI's form.
 */
export interface OwnTaskForm {
  /** Members of the answer to a submit, besides those of every task. */
  submitted(upstreamId: string): object
  /** A task in the vendor's words, made from its document here. */
  shown(upstreamId: string, document: Readonly<Record<string, unknown>>): { status: number; body: object }
}

/** Facts about the request of a task, which are read when they are needed. */
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
  /** The vendor does not know the task, or no longer. */
  | { status: 'missing' }

/** Seconds that the videos of a model may have. */
export interface Durations {
  min: number
  max: number
  /** Seconds that are held and billed if the request names none. */
  default: number
  /** True if -1 lets the vendor choose: the most is held, and the reported seconds are billed. */
  vendorMayChoose?: boolean
}

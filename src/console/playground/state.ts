// The state of the playground while somebody uses it: the open conversation, the draft, and the running requests. It outlives the
// page: requests continue when another page is opened, and are there when its reader returns. Nothing may be sent whose price was
// not shown.

import { computed, type Signal, signal } from '@preact/signals'
import { ApiError } from '../api'
import type { PricedModel } from '../key-api'
import {
  type Conversation,
  type Draft,
  EMPTY_DRAFT,
  emptyReply,
  type Fault,
  type Kind,
  MAX_MODELS,
  type ModelReply,
  type Turn,
  type Values,
} from './conversation'
import type { Reopened } from './from-request'
import { quoteOf } from './quotes'
import { type NextTurn, type PlaygroundRequest, requestOf } from './request'
import { run } from './run'
import { drop, dropAll, keep, keptConversations } from './store'

/** A request and its maximum price, as shown next to the button. */
export interface Priced {
  model: string
  request: PlaygroundRequest
  mostUsd: string
}

export class PlaygroundState {
  /** The list of models, once it is known. */
  readonly models = signal<readonly PricedModel[]>([])
  readonly kept = signal<readonly Conversation[]>([])
  readonly draft = signal<Draft>(EMPTY_DRAFT)
  /** Entered results of tool calls, by the ids of the calls. */
  readonly results = signal<Readonly<Record<string, string>>>({})
  readonly current: Signal<Signal<Conversation>>
  readonly conversation = computed(() => this.current.value.value)
  /** The last requests, to be shown as programs. */
  readonly sent = signal<readonly Priced[]>([])
  /** Running requests, by conversation, turn and model. */
  readonly running = signal<ReadonlyMap<string, AbortController>>(new Map())

  readonly #open = new Map<string, Signal<Conversation>>()

  constructor(readonly owner: string) {
    this.current = signal(this.#opened(fresh('chat', [], {})))
    void this.#readKept()
  }

  async #readKept(): Promise<void> {
    this.kept.value = await keptConversations(this.owner)
  }

  #opened(conversation: Conversation): Signal<Conversation> {
    const found = this.#open.get(conversation.id) ?? signal(conversation)
    this.#open.set(conversation.id, found)
    return found
  }

  modelsFor(kind: Kind): readonly PricedModel[] {
    return this.models.value.filter(({ operations }) => operations.includes(kind))
  }

  /** The models that answer next; the first available one if none is chosen. */
  get chosen(): readonly PricedModel[] {
    const { kind, models } = this.conversation.value
    const usable = this.modelsFor(kind)
    const chosen = models.flatMap((id) => usable.find((each) => each.id === id) ?? [])
    return chosen.length > 0 ? chosen : usable.slice(0, 1)
  }

  /** Begins a conversation. Files belong to a kind of work: those of another kind are never sent with it. */
  begin(kind: Kind, models: readonly string[], values: Values = {}): void {
    const { files, ...draft } = this.draft.value
    const isSame = kind === this.conversation.value.kind
    this.current.value = this.#opened(fresh(kind, models.slice(0, MAX_MODELS), values))
    this.draft.value = { ...draft, files: isSame ? files : [], edits: null }
    this.results.value = {}
  }

  /** Chooses the work and its models: in the open conversation, unless it already has turns of another kind. */
  choose(kind: Kind, models: readonly string[]): void {
    const { turns, kind: before, values } = this.conversation.value
    if (kind !== before) this.begin(kind, models, turns.length === 0 ? values : {})
    else this.#change(this.current.value, { models: models.slice(0, MAX_MODELS) })
  }

  setValue(name: string, value: string): void {
    const { values } = this.conversation.value
    this.#change(this.current.value, { values: { ...values, [name]: value } })
  }

  open(conversation: Conversation): void {
    this.current.value = this.#opened(conversation)
    this.draft.value = EMPTY_DRAFT
    this.results.value = {}
  }

  /** Opens the conversation of a logged request, with its last turn in the form. */
  reopen({ conversation, draft, results }: Reopened): void {
    this.open(conversation)
    this.draft.value = draft
    this.results.value = results
  }

  async remove(id: string): Promise<void> {
    await drop(id)
    if (this.conversation.value.id === id) this.begin(this.conversation.value.kind, [])
    await this.#readKept()
  }

  async removeAll(): Promise<void> {
    await dropAll(this.owner)
    this.begin(this.conversation.value.kind, this.conversation.value.models)
    await this.#readKept()
  }

  /** Puts a turn back into the editor; sending it replaces the turn and all later ones. */
  edit(turn: Turn): void {
    this.draft.value = { text: turn.text, files: turn.files, edits: turn.id }
  }

  /** The next turn: the draft, or the results of tools. */
  nextTurn(results: Readonly<Record<string, string>> | null): NextTurn {
    const { edits, text, files } = this.draft.value
    const conversation = this.conversation.value
    const end = edits === null ? -1 : conversation.turns.findIndex(({ id }) => id === edits)
    const turns = end < 0 ? conversation.turns : conversation.turns.slice(0, end)
    return {
      conversation: { ...conversation, turns },
      turn: results ? { text: '', files: [], results } : { text, files, results: null },
    }
  }

  /** Sends the priced requests, and clears the editor. */
  send({ conversation: { turns }, turn }: NextTurn, priced: readonly Priced[]): void {
    this.sent.value = priced
    const replies = priced.map(({ model, mostUsd }) => emptyReply(model, mostUsd))
    const next: Turn = { ...turn, id: crypto.randomUUID(), replies }
    const place = this.current.value
    const models = priced.map(({ model }) => model)
    this.#change(place, { turns: [...turns, next], models })
    if (turn.results) this.results.value = {}
    else this.draft.value = EMPTY_DRAFT
    for (const each of priced) void this.#run(place, next.id, each)
  }

  /**
   * Asks a model again for its reply to the last turn. Sends nothing if the price is higher than the one shown; in that case,
   * shows the new price.
   */
  async regenerate(turn: Turn, reply: ModelReply): Promise<void> {
    const place = this.current.value
    const { turns } = place.value
    const before = turns.slice(
      0,
      turns.findIndex(({ id }) => id === turn.id),
    )
    const model = this.models.value.find(({ id }) => id === reply.model)
    if (!model) return
    try {
      const request = requestOf({ conversation: { ...place.value, turns: before }, turn }, model)
      if (!request) return
      const priced = await quoteOf(request, model.id)
      if (Number(priced.mostUsd) > Number(reply.mostUsd))
        return this.#show(place, turn.id, { ...reply, mostUsd: priced.mostUsd })
      this.#show(place, turn.id, emptyReply(model.id, priced.mostUsd))
      await this.#run(place, turn.id, priced)
    } catch (error) {
      this.#show(place, turn.id, { ...reply, fault: faultOf(error) })
    }
  }

  /** Ends all requests of the open conversation. */
  stop(): void {
    for (const [name, controller] of this.running.value)
      if (name.startsWith(this.conversation.value.id)) controller.abort()
  }

  /** Ends everything: another owner has signed in. */
  close(): void {
    for (const controller of this.running.value.values()) controller.abort()
  }

  async #run(place: Signal<Conversation>, turn: string, { model, request, mostUsd }: Priced): Promise<void> {
    const controller = new AbortController()
    const name = `${place.value.id} ${turn} ${model}`
    this.running.value = new Map([...this.running.value, [name, controller]])
    const { signal } = controller
    let latest = emptyReply(model, mostUsd)
    const show = (reply: ModelReply) => {
      latest = reply
      this.#show(place, turn, reply)
    }
    try {
      await run(latest, { request, show, signal })
    } catch (error) {
      if (signal.aborted) show({ ...latest, state: 'stopped' })
      else show({ ...latest, state: 'failed', fault: faultOf(error) })
    }
    this.running.value = new Map([...this.running.value].filter(([each]) => each !== name))
    await keep(this.owner, place.value)
    await this.#readKept()
  }

  #show(place: Signal<Conversation>, turn: string, reply: ModelReply): void {
    const put = (each: Turn): Turn => ({
      ...each,
      replies: each.replies.map((other) => (other.model === reply.model ? reply : other)),
    })
    this.#change(place, { turns: place.value.turns.map((each) => (each.id === turn ? put(each) : each)) })
  }

  #change(place: Signal<Conversation>, changes: Partial<Conversation>): void {
    place.value = { ...place.value, ...changes, changedAt: Date.now() }
  }
}

function faultOf(error: unknown): Fault {
  const { message, status, code, param } = ApiError.from(error)
  return { message, status, code, param }
}

function fresh(kind: Kind, models: readonly string[], values: Values): Conversation {
  return { id: crypto.randomUUID(), kind, models, values, turns: [], changedAt: Date.now() }
}

let playground: PlaygroundState | undefined

/** The playground's state of a key: the same one for as long as its holder is signed in. */
export function playgroundStateOf(owner: string): PlaygroundState {
  if (playground?.owner === owner) return playground
  playground?.close()
  playground = new PlaygroundState(owner)
  return playground
}

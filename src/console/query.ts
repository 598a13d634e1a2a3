// Answers of the server, cached by request. A repeated request gets its last answer at once, for example after Back, and the new
// one when it arrives; a running request is not sent twice. A change made by this page repeats the requests of visible answers, and
// discards the others. Nothing may outlive its session.

import { effect, type Signal, signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError, changes, session } from './api'

interface State {
  data: unknown
  error: ApiError | undefined
  isLoading: boolean
}

interface Question {
  ask(signal: AbortSignal): Promise<unknown>
  state: Signal<State>
  /** How many components show its answer. */
  watchers: number
  running: AbortController | undefined
}

export interface Load<Data> extends State {
  data: Data | undefined
  reload(): void
}

/** Maximum number of cached answers that nobody sees. */
const MAX_KEPT = 30
/** Requests by key, the most recent one at the end. */
const questions = new Map<string, Question>()

effect(() => {
  if (changes.value === 0) return
  for (const [key, question] of questions) {
    if (question.watchers > 0) start(question)
    else questions.delete(key)
  }
})
effect(() => {
  if (!session.value) questions.clear()
})

/**
 * The answer to a request, whose key contains everything that it depends on. While it is repeated or replaced, the previous answer
 * stays visible, so that nothing jumps. `news` increases when the answer has changed.
 */
export function useQuery<Data>(
  key: readonly unknown[],
  ask: (signal: AbortSignal) => Promise<Data>,
  news = 0,
): Load<Data> {
  const name = JSON.stringify(key)
  const question = questionOf(name)
  question.ask = ask
  useEffect(() => watch(name, question), [question, news])
  const before = useRef<Data | undefined>(undefined)
  const { data, ...state } = question.state.value
  if (data !== undefined) before.current = data as Data
  return { ...state, data: before.current, reload: () => start(question) }
}

function questionOf(name: string): Question {
  const found = questions.get(name)
  if (found) return found
  const state = signal<State>({ data: undefined, error: undefined, isLoading: true })
  const question: Question = { ask: () => Promise.reject(), state, watchers: 0, running: undefined }
  questions.set(name, question)
  return question
}

/** Keeps a request up to date for as long as its answer is visible. */
function watch(name: string, question: Question): () => void {
  questions.delete(name)
  questions.set(name, question)
  question.watchers++
  if (!question.running) start(question)
  return () => {
    question.watchers--
    if (question.watchers > 0) return
    question.running?.abort()
    question.running = undefined
    forgetOldest()
  }
}

function start(question: Question): void {
  question.running?.abort()
  const controller = new AbortController()
  question.running = controller
  const change = (changed: Partial<State>) => {
    if (question.running === controller) question.state.value = { ...question.state.peek(), ...changed }
  }
  const end = (changed: Partial<State>) => {
    change({ ...changed, isLoading: false })
    if (question.running === controller) question.running = undefined
  }
  change({ isLoading: true })
  question.ask(controller.signal).then(
    (data) => end({ data, error: undefined }),
    (error: unknown) => end({ error: ApiError.from(error) }),
  )
}

function forgetOldest(): void {
  const unseen = [...questions].filter(([, { watchers }]) => watchers === 0)
  for (const [name] of unseen.slice(0, -MAX_KEPT)) questions.delete(name)
}

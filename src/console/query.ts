// Answers of the server by the question that was asked. A question that is asked again gets its last answer at once, as after Back,
// and the new one when it comes; a question that is being asked is not asked twice. A change through this page makes the
// answers that are seen be asked again, and the others be forgotten. Nothing may outlive the session that asked.

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
  /** How many places show its answer. */
  watchers: number
  running: AbortController | undefined
}

export interface Load<Data> extends State {
  data: Data | undefined
  reload(): void
}

/** Answers that are kept at most while nobody sees them. */
const MOST_KEPT = 30
/** Questions by their keys, the one that was asked last at the end. */
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
 * The answer to a question; its key says all that it depends on. While it is asked again, or another one is asked in its place, the
 * answer before stays, so that nothing jumps. `news` grows when the answer has changed.
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

/** Asks a question for as long as its answer is seen. */
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
  for (const [name] of unseen.slice(0, -MOST_KEPT)) questions.delete(name)
}

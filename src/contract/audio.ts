// The part of a payload contract that reads audio: samples that the gateway turns into a file, or a file that the vendor makes.
// Types only. Nothing here must know a vendor or how audio is sent on.

import type { PcmFormat } from '../lib/file-formats/wav'
import type { Model } from './family'
import type { Quantities } from './units'

/** The HTTP status of an error in a successful answer; `event` is the text of the event, or empty. */
type ReadStatus = (json: unknown, event: string) => number | undefined

/**
 * Reads samples that the gateway turns into the file: each event of the vendor's stream, or its reply, contains a piece of them or
 * their URL.
 */
export interface SamplesContract<Body = unknown> {
  kind: 'samples'
  format(body: Body, model: Model): AudioFormat
  /** The format of pieces without a header. */
  plain: PcmFormat
  read(json: unknown): { piece?: Uint8Array; url?: string }
  status?: ReadStatus
}

/**
 * Reads a file that the vendor makes: the bytes of its answer, or those in its events or in its reply. They pass to the caller
 * unchanged.
 */
export interface AudioFileContract<Body = unknown> {
  kind: 'file'
  /** The media type of the file, if the vendor does not name it. */
  type(body: Body): string
  /** The bytes in an event or a reply; undefined if it has none. `hasBegun`: earlier events had bytes. */
  read(json: unknown, hasBegun: boolean): Uint8Array | undefined
  status?: ReadStatus
  /** Whether the vendor reports the charged figures, so that the price is known only at the end. Absent: it does not. */
  isMetered?(model: Model): boolean
  /** The events for a caller that requests them instead of the file; undefined for other callers. */
  events(body: Body): AudioEvents | undefined
  /**
   * Quantities for a number of bytes of a file, for an answer without figures of the vendor. Absent or undefined: the quote is
   * charged, whatever was delivered. `type` is the media type that the vendor names, if it names one.
   */
  estimate?(bytes: number, body: Body, model: Model, type?: string): Quantities | undefined
}

/** Writes the events of a file. */
export interface AudioEvents {
  piece(bytes: Uint8Array): string
  /** The last event of a whole file. `usage` is the charged usage. */
  end(usage: Quantities): string
}

export type AudioFormat = 'mp3' | 'wav'

import Foundation

extension Error {
  /// Why a file was not read or written, in the system's words: Foundation's own description says less.
  public var fileReason: String {
    guard let cause = (self as? CocoaError)?.underlying as? POSIXError else { return localizedDescription }
    return String(cString: strerror(cause.code.rawValue))
  }
}

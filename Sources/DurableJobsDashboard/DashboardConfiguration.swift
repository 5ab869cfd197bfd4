import DurableJobsAdmin

extension Dashboard {
  /// How a dashboard presents itself. All of it has defaults that work.
  public struct Configuration: Sendable {
    /// What it calls itself at the top of each page.
    public var brand = "Jobs"
    /// Where browsers find it if a proxy is in front, such as `https://ops.example.org`: its cookies then travel over
    /// TLS alone, and forms are taken from that origin. Nil for whatever host they ask.
    public var url: String?
    /// What the program calls the setting of `url`, for the page that refuses a form.
    public var urlSetting: String?
    /// What no page may show: passwords, tokens, keys. Texts of fewer than eight bytes are not looked for.
    public var secrets: [String] = []
    /// What the program calls its commands and workers.
    public var terms = DoctorTerms()

    public init() {}

    /// Scheme, host and port, as browsers send them.
    var origin: String? {
      url.map { $0.split(separator: "/", omittingEmptySubsequences: false).prefix(3).joined(separator: "/") }
    }
  }
}

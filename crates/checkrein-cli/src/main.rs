fn main() -> std::process::ExitCode {
    checkrein_cli::run()
}

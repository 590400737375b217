from shared.migrations import run_env

run_env("economy")
